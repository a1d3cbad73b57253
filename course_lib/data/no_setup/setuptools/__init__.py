"""What pip finds in place of setuptools while it fetches a source package."""
