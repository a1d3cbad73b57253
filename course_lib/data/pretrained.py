"""The files of a pre-trained network: from its hub, or three members of an archive."""

import shutil
import zipfile
from pathlib import Path

from course_lib.data.catalog import card
from course_lib.data.readers import readable
from course_lib.data.sources import obtain, verify
from course_lib.files import atomic_path, prepared_folder


def fetch_network(name: str = "minilm") -> Path:
    """The folder with ``config.json``, ``tokenizer.json`` and ``model.safetensors`` of a network.

    Nothing else of an archive is read, and no code of it is run. ``DataError`` names the file whose
    digest is not that of the network's own files; nothing is kept then.
    """
    network_card, folder = card(name, "network"), prepared_folder(name)
    if not folder.exists():
        source, paths = obtain(network_card)
        with atomic_path(folder) as temporary:
            temporary.mkdir()
            for number, download in enumerate(network_card.sources[0].downloads):
                member = download.filename.removeprefix(f"{name}.")
                target = temporary / member
                if source.member:
                    with readable(paths[0]), zipfile.ZipFile(paths[0]) as archive:
                        target.write_bytes(archive.read(source.member + member))
                else:
                    shutil.copyfile(paths[number], target)
                remedy = f"It was read from {paths[0]}: delete that file and run again."
                verify(target, download.digest, remedy)
    return folder
