"""A room's front: the names that others may use, each loaded when it is first asked for."""

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any


def front(room: str, names: dict[str, str]) -> tuple[list[str], Callable[[str], Any]]:
    """``__all__`` and ``__getattr__`` of a room whose public ``names`` stand in its modules.

    ``names`` gives for every name the module of the room that defines it; a name that is its own
    module stands for the module. Importing a room so costs nothing (PEP 562).
    """

    def load(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"{room} has no public name {name!r}; see {room}.__all__")
        module = import_module(f"{room}.{names[name]}")
        value = module if name == names[name] else getattr(module, name)
        setattr(sys.modules[room], name, value)
        return value

    return sorted(names), load
