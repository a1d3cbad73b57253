"""The first cell of a hosted notebook: it finds the course or fetches it, and says which.

Tried in an empty folder and an environment without the course, with a folder as ``SOURCE`` and the
packages at hand. Not tried: any hosted service, since none could be reached.
"""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

SOURCE = ""  # fill in the address: that from which git clones this course
FOLDER = Path("attention-course").resolve()

if importlib.util.find_spec("course_kit"):
    print("The course is installed here already.")
else:
    if not FOLDER.exists():
        print(f"The course is fetched from {SOURCE} into {FOLDER} …", flush=True)
        subprocess.run(["git", "clone", "--quiet", "--depth", "1", SOURCE, FOLDER], check=True)
    print("It is installed with what its lessons need, which takes minutes …", flush=True)
    pip = [sys.executable, "-m", "pip", "install", "--quiet"]
    pins = ["--constraint", str(FOLDER / "constraints.txt")]
    subprocess.run([*pip, *pins, "--editable", f"{FOLDER}[course]"], check=True)
    sys.path.insert(0, str(FOLDER))  # this kernel started before the course was there
    os.chdir(FOLDER / "notebooks")
    print(f"The course is in {FOLDER}; open the lessons from there. This cell may run again.")
