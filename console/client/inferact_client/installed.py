"""The installed packages of the console, and packages or files with the same names that hide them."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import sys
from collections.abc import Iterable
from pathlib import Path

CONSOLE = "inferact-console"
_OURS = {"console": "gate/checks.py", "storage": "queue/claims.py"}
"""The console's packages, each with a file that no other package of this name holds."""


def is_console_installed() -> bool:
    """Return whether the console's distribution is installed in this environment."""
    try:
        importlib.metadata.version(CONSOLE)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def find_clashes(folders: Iterable[Path] = ()) -> list[str]:
    """Return one sentence for each file or package that hides a package of the console.

    `folders` are further folders from which an agent may be started: a program's own folder comes before the installed
    packages.
    """
    owners = importlib.metadata.packages_distributions() if sys.version_info >= (3, 10) else {}
    found = [_import_clash(name) for name in _OURS] + [_owner_clash(name, {*owners.get(name, ())}) for name in _OURS]
    found += [_folder_clash(folder, name) for folder in folders for name in _OURS]
    return list(dict.fromkeys(sentence for sentence in found if sentence))


def _import_clash(name: str) -> str:
    """Return the sentence about a foreign module that `import name` finds."""
    loaded = sys.modules.get(name)
    try:
        spec = importlib.util.find_spec(name) if loaded is None else loaded.__spec__
    except (ImportError, ValueError):
        spec = None
    places = list(spec.submodule_search_locations or ()) if spec is not None else []
    origin = spec.origin if spec is not None else getattr(loaded, "__file__", None)
    if any((Path(place) / _OURS[name]).is_file() for place in places):
        return ""
    return _sentence(Path(origin or places[0]), name) if origin or places else ""


def _owner_clash(name: str, owners: set[str]) -> str:
    """Return the sentence about another distribution that installed files into the package."""
    others = sorted(owners - {CONSOLE})
    if CONSOLE not in owners or not others:
        return ""
    return (
        f"The package {others[0]} has replaced files of {CONSOLE} in the folder {name}. Uninstall {others[0]}, then "
        f"run: pip install --force-reinstall --no-deps {CONSOLE}."
    )


def _folder_clash(folder: Path, name: str) -> str:
    """Return the sentence about a file or folder that hides the package from programs in this folder."""
    for path in (folder / f"{name}.py", folder / name / "__init__.py"):
        if path.is_file() and not (folder / name / _OURS[name]).is_file():
            return _sentence(path, name)
    return ""


def _sentence(path: Path, name: str) -> str:
    return f"{path} hides the package {name} of InferAct Console. Rename {path.name}, or use another folder."
