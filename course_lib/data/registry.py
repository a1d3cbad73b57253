"""Addresses of package files in the index that pip is configured with; nothing is installed or run.

An index lists the files of a project on a page (PEP 503), and the one that the catalog names is
downloaded like any other address. ``pip download`` would run the setup of a source package to learn
its name, so pip is asked for its settings alone.
"""

import re
import subprocess
import sys
from html import unescape
from pathlib import PurePosixPath
from urllib.parse import unquote, urljoin, urlparse

import requests

SETTING = re.compile(r"^[\w:-]+\.(index-url|extra-index-url|cert)='(.*)'$", re.MULTILINE)
USUAL = re.compile(r"--index-url.*?\(default\s+(\S+?)\)", re.DOTALL)  # in pip's help
LINK = re.compile(r"""href=["']([^"'#]+)""")
CONNECT_SECONDS, STALL_SECONDS = 5, 20


def pip_settings() -> dict[str, str]:
    """What pip's files and environment say of its indexes and certificates; nothing without pip."""
    usual = USUAL.search(_told("download", "--help"))
    settings = {"index-url": usual[1]} if usual else {}
    return settings | dict(SETTING.findall(_told("config", "list")))  # the environment comes last


def _told(*arguments: str) -> str:
    """What pip prints."""
    command = [sys.executable, "-m", "pip", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def package_address(filename: str, requirement: str, settings: dict[str, str]) -> str:
    """Where the first index that has it has a file of a project; ``LookupError`` if none has."""
    project = re.sub(r"[-_.]+", "-", requirement.partition("==")[0]).lower()
    indexes = f"{settings.get('index-url', '')} {settings.get('extra-index-url', '')}".split()
    reasons = [] if indexes else ["there is no pip here that names an index"]
    for index in indexes:
        page = f"{index.rstrip('/')}/{project}/"
        try:
            answer = requests.get(
                page, timeout=(CONNECT_SECONDS, STALL_SECONDS), verify=settings.get("cert", True)
            )
            answer.raise_for_status()
        except (requests.RequestException, OSError) as error:
            reasons.append(str(error))
            continue
        for link in map(unescape, LINK.findall(answer.text)):
            if PurePosixPath(unquote(urlparse(link).path)).name == filename:
                return urljoin(answer.url, link)
        reasons.append(f"{page} does not list it")
    raise LookupError("; ".join(reasons))
