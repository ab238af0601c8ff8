"""Which source files a module rests on, and one digest of all of them.

The measured cells are kept on disk under a key that must change when the code that makes their
numbers changes. Nobody keeps a list of that code: it is the module that measures and all that it
imports from this package, directly or through others, read from the source files with `ast`.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from pathlib import Path

PACKAGE = "bizol"


def digest_sources(module: str, root: Path) -> str:
    """Return a digest of the names and contents of the files that a module rests on.

    Args:
        module: The full name, such as "bizol.reproduction.experiments".
        root: The folder of the package `bizol`.

    """
    digest = hashlib.sha256()
    for path in find_sources(module, root):
        name = path.relative_to(root).as_posix()
        digest.update(name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def find_sources(module: str, root: Path) -> list[Path]:
    """Return the files of a module and of all that it imports from the package, sorted.

    Imports inside functions count; those under `if TYPE_CHECKING:` do not, as they never run. The
    package's own `__init__.py` is left out: it only lists names, and would bring everything in.

    Example:
        >>> root = Path(__file__).parents[1]
        >>> sources = find_sources("bizol.reproduction.lockstep", root)
        >>> root / "arrays.py" in sources, root / "reproduction" / "figures.py" in sources
        (True, False)

    """
    found: set[Path] = set()
    waiting = _find_files(module, root)
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            for name in _list_imports(path, root):
                waiting += _find_files(name, root)
    return sorted(found)


def _find_files(name: str, root: Path) -> list[Path]:
    """Return the files that run when a name such as "bizol.methods.BiZOL" is imported.

    These are the `__init__.py` of each package on the way and, at the end, the module. What follows
    the module is a class or a function defined in it.
    """
    files = []
    place = root
    for part in name.split(".")[1:]:
        place = place / part
        if (place / "__init__.py").is_file():
            files.append(place / "__init__.py")
        elif place.with_suffix(".py").is_file():
            return [*files, place.with_suffix(".py")]
        else:
            break
    return files


def _list_imports(path: Path, root: Path) -> Iterator[str]:
    """Yield the full names that a file imports from the package."""
    parts = (PACKAGE, *path.relative_to(root).with_suffix("").parts)
    for node in _walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            # `from . import x` counts from the folder of the file, `from .. import x` from above.
            start = parts[: -node.level] if node.level else ()
            base = (*start, node.module) if node.module else start
            names = [".".join((*base, alias.name)) for alias in node.names]
        else:
            continue
        yield from (name for name in names if name.split(".")[0] == PACKAGE)


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and all nodes below it, apart from the bodies of `if TYPE_CHECKING:`."""
    yield node
    children = ast.iter_child_nodes(node)
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        children = iter(node.orelse)
    for child in children:
        yield from _walk(child)
