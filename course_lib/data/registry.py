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
LINK = re.compile(r"""href=["']([^"'#]+)""")
CONNECT_SECONDS, STALL_SECONDS = 5, 20


def pip_settings() -> dict[str, str]:
    """What pip's files and environment say of its indexes and certificates; nothing without pip."""
    command = [sys.executable, "-m", "pip", "config", "list"]
    told = subprocess.run(command, capture_output=True, text=True, check=False)
    return dict(SETTING.findall(told.stdout))  # the environment comes last, and counts


def package_address(filename: str, requirement: str, settings: dict[str, str]) -> str:
    """Where the first index that has it has a file of a project; ``LookupError`` if none has."""
    project = re.sub(r"[-_.]+", "-", requirement.partition("==")[0]).lower()
    indexes = [
        settings.get("index-url") or _public_index(),
        *settings.get("extra-index-url", "").split(),
    ]
    reasons = []
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


def _public_index() -> str:
    """The index of a pip that nobody has configured; ``LookupError`` without pip."""
    try:
        from pip._internal.models.index import PyPI
    except ImportError as error:
        raise LookupError("pip, which knows the package index, is not installed here") from error
    return PyPI.simple_url
