"""The house itself: its vocabulary, its rooms and what they may touch, and the size of things."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

import bizol

SOURCE = Path(bizol.__file__).parent
ROOT = SOURCE.parents[1]

VOCABULARY = """
    Ball BiZOL Box BudgetSet CappedSimplex Certificate ConvexHull Ellipsoid EvaluationError
    FeasibleSet Foresight History Journal JournalError L1Ball LpBall MemoryBiZOL Method
    NuclearNormBall Objective Polytope Problem Product ResponseError Retries Scaled Simplex Solution
    Spectraplex Status Translated VZO bizol_gap certify check clarke_gap directions followers
    iterate minimize objectives smooth_gap structure testing theory transfer
""".split()

# A module may import from its own floor or from a lower one. `import bizol` imports everything.
FLOORS = [
    {"arrays", "processes", "randomness", "records", "version"},
    {"feasible_sets", "directions"},
    {"problem", "autodiff"},
    {"evaluation", "sensitivity"},
    {"methods", "objectives", "structure"},
    {"followers"},
    {"certificates", "run", "testing", "theory"},
    {"report"},
    {"reproduction"},
    {"verification"},
    {"command_line"},
    {"bizol"},
]

LINES_OF_A_FILE = 400
LINES_OF_A_FUNCTION = 60  # its docstring not counted
POSITIONAL = 4  # parameters, `self` not counted


def modules() -> list[Path]:
    return [path for path in sorted(SOURCE.rglob("*.py")) if path != SOURCE / "__init__.py"]


def name_of(path: Path) -> str:
    return str(path.relative_to(SOURCE))


every_module = pytest.mark.parametrize("path", modules(), ids=name_of)


def rooms_imported(source: str) -> set[str]:
    """Return the rooms that a source imports: at the top, in functions, for types, in any form."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module == "bizol":
            names = [f"bizol.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names = [str(node.module)]
        else:
            assert not isinstance(node, ast.ImportFrom), "imports are absolute"
            continue
        for name in names:
            package, _, rest = name.partition(".")
            if package == "bizol":
                room = rest.partition(".")[0] or "bizol"
                found.add(room if (SOURCE / room).is_dir() or is_file(room) else "bizol")
    return found


def is_file(room: str) -> bool:
    return (SOURCE / f"{room}.py").is_file()


def floor(room: str) -> int:
    return next(level for level, rooms in enumerate(FLOORS) if room in rooms)


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node


# --- names


def test_the_vocabulary_is_a_promise() -> None:
    assert sorted(bizol.__all__) == VOCABULARY
    assert all(hasattr(bizol, name) for name in bizol.__all__)
    assert len(VOCABULARY) <= 46


def test_the_version_is_told_once() -> None:
    assert version("bizol") == bizol.__version__


# --- rooms


def test_the_top_of_the_package_is_short_and_every_room_has_a_floor() -> None:
    entries = [path.name for path in SOURCE.iterdir() if path.is_file()]
    assert len(entries) <= 12, sorted(entries)
    rooms = {path.relative_to(SOURCE).parts[0].removesuffix(".py") for path in modules()}
    assert rooms == set().union(*FLOORS) - {"bizol"}


@pytest.mark.parametrize(
    ("source", "rooms"),
    [
        ("from bizol.arrays import Point", {"arrays"}),
        ("import bizol", {"bizol"}),
        ("import bizol.run.solve as s", {"run"}),
        ("from bizol import minimize", {"bizol"}),
        ("from bizol import directions, theory", {"directions", "theory"}),
        ("def f():\n    from bizol.run import solution", {"run"}),
        ("if TYPE_CHECKING:\n    from bizol.report.tables import Table", {"report"}),
        ("import numpy, bizolic", set()),
    ],
)
def test_every_form_of_an_import_is_seen(source: str, rooms: set[str]) -> None:
    assert rooms_imported(source) == rooms


@every_module
def test_imports_go_one_way(path: Path) -> None:
    room = path.relative_to(SOURCE).parts[0].removesuffix(".py")
    for other in rooms_imported(path.read_text()):
        assert floor(other) <= floor(room), f"{room} imports {other}, which is above it"


def test_nothing_outside_of_benchmarks_needs_them() -> None:
    """Benchmarks may use packages the library never imports; nobody may import benchmarks."""
    for folder in ("src", "tests", "examples"):
        for path in (ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
                if isinstance(node, ast.ImportFrom):
                    names = [str(node.module)]
                assert not any(name.split(".")[0] == "benchmarks" for name in names), path


def test_importing_the_library_imports_nothing_it_may_not_need() -> None:
    script = "import sys, bizol; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in run.stdout.split()}
    heavy = "jax torch pandas matplotlib highspy rich typer scipy piqp cvxpy sklearn"
    assert loaded.isdisjoint(heavy.split())


# --- who may touch what


def test_the_follower_is_called_in_one_place() -> None:
    callers = {
        name_of(path)
        for path in modules()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "response"
        and not (isinstance(node.func.value, ast.Attribute) and node.func.value.attr == "_register")
    }
    assert callers == {"evaluation/question.py"}
    users = {
        path.relative_to(SOURCE).parts[0] for path in modules() if "Question" in path.read_text()
    }
    assert users == {"evaluation"}


def test_no_method_looks_into_the_follower() -> None:
    """Known structure is for diagnosis: the rooms that methods are made of do not mention it."""
    forbidden = {"limiting_jacobians", "smoothed", "structure_of", "jacobians_of"}
    for room in ("methods", "sensitivity", "evaluation", "run", "directions"):
        for path in modules():
            if path.relative_to(SOURCE).parts[0].removesuffix(".py") != room:
                continue
            nodes = list(ast.walk(ast.parse(path.read_text())))
            used = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
            used |= {node.id for node in nodes if isinstance(node, ast.Name)}
            assert used.isdisjoint(forbidden), path
            assert rooms_imported(path.read_text()).isdisjoint({"followers", "structure"}), path


# `getattr` on our own records by the names of their own fields, and on libraries.
MAY_LOOK = {
    "arrays.py": "array libraries",
    "command_line/run_file.py": "what a run file names",
    "evaluation/journal/fingerprint.py": "names of functions, fields of records",
    "followers/estimator.py": "estimators of scikit-learn",
    "followers/http.py": "errors of urllib",
    "problem/objective.py": "numbers and arrays that an objective returned",
}


def looks_for_a_member(node: ast.AST) -> bool:
    """Whether a call is `getattr` or `hasattr` with a member's name written out."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        return False
    if node.func.id not in ("getattr", "hasattr") or not isinstance(node.args[1], ast.Constant):
        return False
    system = isinstance(node.args[0], ast.Name) and node.args[0].id in ("os", "signal")
    return not system  # what a system offers is asked for so


def test_optional_behavior_is_declared_and_not_discovered() -> None:
    """No `getattr` or `hasattr` for a stranger's member and no `inspect`, but for those named."""
    lookers = set()
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text())):
            inspects = isinstance(node, ast.Import) and any(
                alias.name == "inspect" for alias in node.names
            )
            if inspects or looks_for_a_member(node):
                lookers.add(name_of(path))
    assert lookers == set(MAY_LOOK)


def test_frozen_records_are_written_to_in_one_place() -> None:
    writers = {name_of(path) for path in modules() if "object.__setattr__" in path.read_text()}
    assert writers == {"records.py"}


# --- sizes


@every_module
def test_no_file_is_too_long(path: Path) -> None:
    lines = len(path.read_text().splitlines())
    assert lines <= LINES_OF_A_FILE, f"{lines} lines"


def code_lines(function: Any) -> int:
    """Return how many lines a function has without its docstring."""
    docstring = ast.get_docstring(function, clean=False)
    said = 0 if docstring is None else function.body[0].end_lineno - function.body[0].lineno + 1
    return int(function.end_lineno - function.lineno + 1 - said)


@every_module
def test_functions_fit_on_a_screen_and_take_few_positional_parameters(path: Path) -> None:
    for function in functions(path):
        assert code_lines(function) <= LINES_OF_A_FUNCTION, f"{function.name} is too long"
        names = [each.arg for each in (*function.args.posonlyargs, *function.args.args)]
        count = len([name for name in names if name not in ("self", "cls")])
        assert count <= POSITIONAL, f"{function.name} takes {count} positional parameters"


def test_minimize_is_about_forty_lines_of_code() -> None:
    path = SOURCE / "run" / "solve.py"
    (minimize,) = (each for each in functions(path) if each.name == "minimize")
    assert code_lines(minimize) - (minimize.body[0].lineno - minimize.lineno) <= 50
