"""Run files: a problem, a method and the options of a run, in TOML.

The objective and the follower are given by import path, the feasible set by data.
"""

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

from bizol import feasible_sets, methods
from bizol.arrays import ArgumentError
from bizol.directions import Coordinates, OrthonormalBlocks, Rademacher, Sphere
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
    "check": bool,
    "on_unknown": str,
    "journal": str,
    "engine": str,
}
METHODS = ("BiZOL", "VZO", "MemoryBiZOL", "Foresight")
DIRECTIONS = {each.__name__: each for each in (Sphere, OrthonormalBlocks, Coordinates, Rademacher)}


@final
@dataclass(frozen=True, slots=True)
class RunFile:
    """The contents of a run file.

    Attributes:
        problem: the problem.
        method: the method; None for the default.
        options: the options of the run.

    """

    problem: Problem
    method: Any = None
    options: dict[str, Any] = field(default_factory=dict)


def load(source: str, *, command: str | None = None) -> RunFile:
    """Read a run file (*.toml), or import a problem, `module:name`.

    Args:
        source: the path of the file, or the import path of a `Problem` or of a function that
            returns one.
        command: a command line that answers in place of the problem's follower.

    Raises:
        ValueError: naming the key and its line.

    """
    if source.endswith(".toml"):
        loaded = _read(Path(source), command)
    else:
        loaded = RunFile(_import_problem(source))
    if command is not None:
        answering = replace(
            loaded.problem, response=Command(shlex.split(command)), vectorized=False, seeded=None
        )
        loaded = replace(loaded, problem=answering)
    return loaded


def _import_problem(source: str) -> Problem:
    found = import_object(source, Path.cwd())
    problem = found() if callable(found) else found
    if not isinstance(problem, Problem):
        raise ValueError(
            f"{source} must be a bizol.Problem or a function that returns one, got {problem!r}."
        )
    return problem


def import_object(path: str, folder: Path) -> Any:
    """Return the object that an import path, `module:name`, names.

    Modules are looked for in the folder too.
    """
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
    """Turns the tables of a file into a `RunFile`; errors name the key and its line."""

    path: Path
    text: str
    tables: dict[str, Any]

    def read(self, command: str | None) -> RunFile:
        known = {"objective", "follower", "set", "method", "run"}
        for name in self.tables:
            if name not in known:
                what = f"there is no such table; there are {', '.join(sorted(known))}"
                raise self._mistake(name, None, what)
        for name in ("objective", "set", *(["follower"] if command is None else [])):
            if not isinstance(self.tables.get(name), dict):
                raise ValueError(f"{self.path}: the table [{name}] is missing.")
        follower: Any = Outside()  # where a command line answers in its place
        options: dict[str, bool] = {}
        if command is None:
            follower, options = self._read_follower()
        feasible_set = self._build_kind("set", self.tables["set"], feasible_sets)
        problem = Problem(self._read_objective(), follower, feasible_set, **options)
        method = None
        if "method" in self.tables:
            method = self._build_kind("method", self.tables["method"], methods, METHODS)
        return RunFile(problem, method, self._read_options())

    def _read_objective(self) -> Objective:
        table = dict(self.tables["objective"])
        if "import" in table:
            self._refuse_unknown("objective", {"import"})
            found = self._import("objective", "import")
            if not isinstance(found, Objective):
                what = f"it must be a bizol.Objective, got {found!r}"
                raise self._mistake("objective", "import", what)
            return found
        self._refuse_unknown("objective", {"value", "grad_x", "grad_y", "joint", "vectorized"})
        for name in ("value", "grad_x", "grad_y"):
            if name not in table:
                what = f"it needs import, or value, grad_x and grad_y; {name} is missing"
                raise self._mistake("objective", None, what)
        functions = [name for name in table if name != "vectorized"]
        arguments = {name: self._import("objective", name) for name in functions}
        arguments["vectorized"] = table.get("vectorized", False)
        objective: Objective = self._build("objective", Objective, arguments)
        return objective

    def _read_follower(self) -> tuple[Any, dict[str, bool]]:
        """Return the follower, and the options of `Problem` about how to call it."""
        table = dict(self.tables["follower"])
        ways = [name for name in ("import", "command", "url", "outside") if name in table]
        if len(ways) != 1:
            what = "it needs one of import, command, url and outside"
            raise self._mistake("follower", None, what)
        (way,) = ways
        given = table.pop(way)
        if way == "import":
            self._refuse_unknown("follower", {"import", "vectorized", "seeded"})
            options = {name: bool(value) for name, value in table.items()}
            return self._import("follower", "import"), options
        if way == "outside":
            self._refuse_unknown("follower", {"outside"})
            return Outside(), {}
        if way == "command":
            line = shlex.split(given) if isinstance(given, str) else given
            arguments = {"command": line, "folder": str(self.path.parent)} | table
            return self._build("follower", Command, arguments), {}
        return self._build("follower", Http, {"url": given} | table), {}

    def _build_kind(
        self, section: str, given: Any, package: Any, allowed: tuple[str, ...] | None = None
    ) -> Any:
        """Build the object that a table describes.

        `kind` names a class of the package; the other keys are its arguments.

        Args:
            section: the table of the file, for messages.
            given: the table itself, or one inside it.
            package: where the classes are.
            allowed: the kinds that may be used; all data classes of the package by default.

        """
        table = dict(given)
        public = package.__all__
        kinds = allowed or tuple(name for name in public if is_dataclass(getattr(package, name)))
        kind = table.pop("kind", None)
        if kind not in kinds:
            what = f"it must be one of {', '.join(kinds)}, got {kind!r}"
            raise self._mistake(section, "kind", what)
        if isinstance(table.get("directions"), str):
            name = table["directions"]
            if name not in DIRECTIONS:
                what = f"it must be one of {', '.join(DIRECTIONS)}, got {name!r}"
                raise self._mistake(section, "directions", what)
            table["directions"] = DIRECTIONS[name]()
        for name, value in table.items():
            if isinstance(value, dict) and "kind" in value:
                table[name] = self._build_kind(section, value, package)
            elif isinstance(value, list) and value and isinstance(value[0], dict):
                table[name] = [self._build_kind(section, each, package) for each in value]
        return self._build(section, getattr(package, kind), table)

    def _build(self, section: str, make: Any, arguments: dict[str, Any]) -> Any:
        """Call a constructor, and name the line of an argument that it refuses."""
        parameters = list(inspect.signature(make).parameters)
        for name in arguments:
            if name not in parameters:
                what = f"{make.__name__} has no such parameter; it has {', '.join(parameters)}"
                raise self._mistake(section, name, what)
        try:
            return make(**arguments)
        except ArgumentError as error:
            blamed = next((name for name in error.names if name in arguments), None)
            raise self._mistake(section, blamed, str(error)) from error
        except (TypeError, ValueError) as error:
            raise self._mistake(section, None, str(error)) from error

    def _read_options(self) -> dict[str, Any]:
        table = self.tables.get("run", {})
        self._refuse_unknown("run", set(RUN))
        for name, value in table.items():
            kind = RUN[name]
            fits = isinstance(value, (int, float) if kind is float else kind)
            if not fits or (kind is int and value is True):
                what = f"it must be of type {kind.__name__}, got {value!r}"
                raise self._mistake("run", name, what)
        return dict(table)

    def _import(self, section: str, key: str) -> Any:
        try:
            return import_object(self.tables[section][key], self.path.parent.absolute())
        except (ValueError, AttributeError) as error:
            raise self._mistake(section, key, str(error)) from error

    def _refuse_unknown(self, section: str, known: set[str]) -> None:
        for name in self.tables.get(section, {}):
            if name not in known:
                what = f"there is no such key; there are {', '.join(sorted(known))}"
                raise self._mistake(section, name, what)

    def _mistake(self, section: str, key: str | None, why: str) -> ValueError:
        """Return an error that names the key and its line."""
        name = section if key is None else f"{section}.{key}"
        line = self._find_line(section, key)
        return ValueError(f"{self.path}, line {line}: {name}: {why.rstrip('.')}.")

    def _find_line(self, section: str, key: str | None) -> int:
        """Return the line of a key, or of its table if it is not found, or else the first line."""
        current = ""
        of_section = 1
        for number, line in enumerate(self.text.splitlines(), start=1):
            if match := re.match(r"\s*\[+\s*([\w.\"-]+)\s*\]+", line):
                current = match[1].split(".")[0]
                if current == section and of_section == 1:
                    of_section = number
            table = re.escape(section)
            if key:
                named = re.match(rf"\s*({table}\.)?[\"']?{re.escape(key)}[\"']?\s*=", line)
                if named and (current == section or named[1]):
                    return number
            # A table may be written in one line: set = {...}.
            if key is None and not current and re.match(rf"\s*{table}\b.*=", line):
                return number
        return of_section
