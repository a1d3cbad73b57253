"""Answers pip's question for name and version of a source package without running its setup."""

from pathlib import Path
from typing import Any


class __legacy__:
    @staticmethod
    def prepare_metadata_for_build_wheel(folder: str, config_settings: Any = None) -> str:
        """Make the package's own ``PKG-INFO`` its metadata; pip calls this in its folder."""
        information = Path(folder, "package.dist-info")
        information.mkdir()
        (information / "METADATA").write_bytes(Path("PKG-INFO").read_bytes())
        return information.name
