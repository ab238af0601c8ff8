"""Run files: a problem, a method and a run in TOML; the objective and the follower by import path, the set by data."""

from __future__ import annotations

import importlib
import inspect
import re
import shlex
import sys
import tomllib
from dataclasses import dataclass, field, is_dataclass, replace
from pathlib import Path
from typing import Any, final

from bizol import directions, feasible_sets, methods
from bizol.followers import Outside
from bizol.followers.command import Command
from bizol.followers.http import Http
from bizol.problem import Objective, Problem

RUN = {
    "budget": int,
    "seed": int,
    "x0": list,
    "workers": int,
    "isolate": bool,
    "timeout": float,
    "repeats": int,
    "on_unknown": str,
    "journal": str,
    "engine": str,
}
METHODS = ("BiZOL", "VZO", "MemoryBiZOL", "Foresight")


@final
@dataclass(frozen=True, slots=True)
class RunFile:
    """What a run file says: the problem, the method (None for the default), and the options of the run."""

    problem: Problem
    method: Any = None
    options: dict[str, Any] = field(default_factory=dict)


def load(source: str, *, command: str | None = None) -> RunFile:
    """Read a run file (*.toml), or import a problem, `module:name`.

    Args:
        source: the path of the file, or the import path of a `Problem` or of a function that
            returns one.
        command: a command line that answers in place of the follower given there.

    Raises:
        ValueError: naming the key and its line.

    """
    loaded = _read(Path(source), command) if source.endswith(".toml") else RunFile(_problem(source))
    if command is not None:
        loaded = replace(
            loaded, problem=replace(loaded.problem, response=Command(shlex.split(command)))
        )
    return loaded


def _problem(source: str) -> Problem:
    found = imported(source, Path.cwd())
    problem = found() if callable(found) else found
    if not isinstance(problem, Problem):
        raise ValueError(
            f"{source} must be a bizol.Problem or a function that returns one, got {problem!r}."
        )
    return problem


def imported(path: str, folder: Path) -> Any:
    """Return what an import path, `module:name`, names; modules are looked for in the folder too."""
    module, separator, name = path.partition(":")
    if not (separator and module and name):
        raise ValueError(f"{path!r} must be an import path, module:name.")
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    try:
        found = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"{path!r} cannot be imported: {error}.") from error
    return found


def _read(path: Path, command: str | None) -> RunFile:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}.") from error
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{path}: {error}.") from error
    return _Reader(path, text, tables).read(command)


@final
@dataclass(frozen=True, slots=True)
class _Reader:
    path: Path
    text: str
    tables: dict[str, Any]

    def read(self, command: str | None) -> RunFile:
        known = {"objective", "follower", "set", "method", "run"}
        for name in self.tables:
            if name not in known:
                raise self._wrong(
                    name, None, f"there is no such table; there are {', '.join(sorted(known))}"
                )
        for name in ("objective", "set", *(["follower"] if command is None else [])):
            if not isinstance(self.tables.get(name), dict):
                raise ValueError(f"{self.path}: the table [{name}] is missing.")
        follower, vectorized = (Outside(), False) if command is not None else self._follower()
        problem = Problem(self._objective(), follower, self._made("set", feasible_sets), vectorized)
        method = self._made("method", methods, METHODS) if "method" in self.tables else None
        return RunFile(problem, method, self._options())

    def _objective(self) -> Objective:
        table = dict(self.tables["objective"])
        if "import" in table:
            self._only("objective", {"import"})
            found = self._import("objective", "import")
            if not isinstance(found, Objective):
                raise self._wrong(
                    "objective", "import", f"it must be a bizol.Objective, got {found!r}"
                )
            return found
        self._only("objective", {"value", "grad_x", "grad_y", "joint", "vectorized"})
        for name in ("value", "grad_x", "grad_y"):
            if name not in table:
                raise self._wrong(
                    "objective",
                    None,
                    f"it needs import, or value, grad_x and grad_y; {name} is missing",
                )
        parts = {name: self._import("objective", name) for name in table if name != "vectorized"}
        built: Objective = self._built(
            "objective", Objective, parts | {"vectorized": table.get("vectorized", False)}
        )
        return built

    def _follower(self) -> tuple[Any, bool]:
        table = dict(self.tables["follower"])
        ways = [name for name in ("import", "command", "url", "outside") if name in table]
        if len(ways) != 1:
            raise self._wrong("follower", None, "it needs one of import, command, url and outside")
        (way,) = ways
        vectorized = bool(table.pop("vectorized", False))
        given = table.pop(way)
        if way == "import":
            self._only("follower", {"import", "vectorized"})
            return self._import("follower", "import"), vectorized
        if way == "outside":
            self._only("follower", {"outside"})
            return Outside(), False
        if way == "command":
            line = shlex.split(given) if isinstance(given, str) else given
            return self._built(
                "follower", Command, {"command": line, "folder": str(self.path.parent)} | table
            ), False
        return self._built("follower", Http, {"url": given} | table), False

    def _made(self, section: str, room: Any, allowed: tuple[str, ...] | None = None) -> Any:
        return self._thing(section, self.tables[section], room, allowed)

    def _thing(
        self, section: str, given: Any, room: Any, allowed: tuple[str, ...] | None = None
    ) -> Any:
        table = dict(given)
        kinds = allowed or tuple(name for name in room.__all__ if is_dataclass(getattr(room, name)))
        kind = table.pop("kind", None)
        if kind not in kinds:
            raise self._wrong(
                section, "kind", f"it must be one of {', '.join(kinds)}, got {kind!r}"
            )
        if isinstance(table.get("directions"), str):
            name = table["directions"]
            if not hasattr(directions, name):
                raise self._wrong(section, "directions", f"there are no directions {name!r}")
            table["directions"] = getattr(directions, name)()
        for name, value in table.items():
            if isinstance(value, dict) and "kind" in value:
                table[name] = self._thing(section, value, room)
            elif isinstance(value, list) and value and isinstance(value[0], dict):
                table[name] = [self._thing(section, each, room) for each in value]
        return self._built(section, getattr(room, kind), table)

    def _built(self, section: str, make: Any, arguments: dict[str, Any]) -> Any:
        """Call a constructor, and say on which line what it did not like is."""
        parameters = list(inspect.signature(make).parameters)
        for name in arguments:
            if name not in parameters:
                raise self._wrong(
                    section,
                    name,
                    f"{make.__name__} has no such parameter; it has {', '.join(parameters)}",
                )
        try:
            return make(**arguments)
        except (TypeError, ValueError) as error:
            blamed = next(
                (name for name in arguments if re.search(rf"\b{name}\b", str(error))), None
            )
            raise self._wrong(section, blamed, str(error)) from error

    def _options(self) -> dict[str, Any]:
        table = self.tables.get("run", {})
        self._only("run", set(RUN))
        for name, value in table.items():
            kind = RUN[name]
            if not isinstance(value, (int, float) if kind is float else kind) or (
                kind is int and value is True
            ):
                raise self._wrong("run", name, f"it must be of type {kind.__name__}, got {value!r}")
        return dict(table)

    def _import(self, section: str, key: str) -> Any:
        try:
            return imported(self.tables[section][key], self.path.parent.absolute())
        except (ValueError, AttributeError) as error:
            raise self._wrong(section, key, str(error)) from error

    def _only(self, section: str, known: set[str]) -> None:
        for name in self.tables.get(section, {}):
            if name not in known:
                raise self._wrong(
                    section, name, f"there is no such key; there are {', '.join(sorted(known))}"
                )

    def _wrong(self, section: str, key: str | None, why: str) -> ValueError:
        name = section if key is None else f"{section}.{key}"
        return ValueError(
            f"{self.path}, line {self._line(section, key)}: {name}: {why.rstrip('.')}."
        )

    def _line(self, section: str, key: str | None) -> int:
        """Return the line a key is on, that of its table where it cannot be found, the first where neither can."""
        current, of_section = "", 1
        for number, line in enumerate(self.text.splitlines(), start=1):
            if match := re.match(r"\s*\[+\s*([\w.\"-]+)\s*\]+", line):
                current = match[1].split(".")[0]
                of_section = number if current == section and of_section == 1 else of_section
            named = (
                re.match(rf"\s*({re.escape(section)}\.)?[\"']?{re.escape(key)}[\"']?\s*=", line)
                if key
                else None
            )
            if named and (current == section or named[1]):
                return number
            if key is None and re.match(rf"\s*{re.escape(section)}\b.*=", line) and not current:
                return number
        return of_section
