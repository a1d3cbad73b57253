"""A folder for ``PYTHONPATH`` in which pip finds a ``setuptools`` that runs nothing."""
