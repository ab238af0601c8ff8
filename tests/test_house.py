"""The house itself: its vocabulary, which room may know which, and who may call the follower."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import bizol

SOURCE = Path(bizol.__file__).parent

VOCABULARY = """
    AdaptiveStep Anchor AnchoredModel AncillaryFunction Ball BiZOL Box BudgetSet CappedSimplex Certificate ClarkeBound
    ConvexHull Coordinates Directions Ellipsoid EvaluationError Evaluator ExactGap FeasibleSet Foresight History
    Hypergradient HypergradientEstimate Iterate Journal JournalError L1Ball LpBall MemoryBiZOL Method Move
    NuclearNormBall Objective OrthonormalBlocks Polytope PowerLaw Problem ProblemCheck Product ProjectableSet Rademacher
    ResponseError Retries Scaled Sensitivity Simplex Solution Spectraplex Sphere State Status Translated VZO bizol_gap
    certify clarke clarke_gap estimate_hypergradient followers horizon_tuned inverse_sqrt iterate minimize objectives
    open_loop smooth_gap testing theory transfer
""".split()

# A module may import from its own floor or from a lower one.
FLOORS = [
    {"arrays", "randomness"},
    {"feasible_sets", "directions"},
    {"problem", "autodiff"},
    {"sensitivity", "followers", "objectives"},
    {"methods", "evaluation"},
    {"checks", "solution", "progress", "clarke", "noise"},
    {"solve", "testing", "anchored_model", "certificates", "theory"},
    {"report", "exchange", "run_file", "starter"},
    {"reproduction"},
    {"verification"},
    {"cli", "run_commands"},
]


def floor(module: str) -> int:
    return next(level for level, rooms in enumerate(FLOORS) if module in rooms)


def modules() -> list[Path]:
    return [path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py"]


def imports(path: Path) -> set[str]:
    """The rooms a module imports when it is imported (not those it fetches later, inside a function)."""
    tree = ast.parse(path.read_text())
    nodes = [node for node in tree.body if isinstance(node, ast.ImportFrom) and node.module]
    return {
        node.module.split(".")[1]
        for node in nodes
        if node.module and node.module.startswith("bizol.")
    }


def test_the_vocabulary_is_a_promise() -> None:
    assert sorted(bizol.__all__) == VOCABULARY
    assert all(hasattr(bizol, name) for name in bizol.__all__)


def test_the_version_is_told_once() -> None:
    assert version("bizol") == bizol.__version__


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_go_one_way(path: Path) -> None:
    room = path.relative_to(SOURCE).parts[0].removesuffix(".py")
    for other in imports(path):
        assert floor(other) <= floor(room), f"{room} imports {other}, which is above it"


def test_the_follower_is_called_in_one_place_and_the_evaluator_alone_uses_it() -> None:
    callers = {
        path.name
        for path in modules()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "response"
    }
    assert callers == {"question.py"}
    users = {path.parent.name for path in modules() if "Question(" in path.read_text()}
    assert users == {"evaluation"}


def test_no_method_looks_into_the_follower() -> None:
    """Known structure is for diagnosis: the rooms that methods are made of do not even mention it."""
    forbidden = ("limiting_jacobians", "KnownStructure", "smoothed", "structure")
    for room in ("methods", "sensitivity.py", "evaluation", "solve.py", "directions.py"):
        paths = [SOURCE / room] if room.endswith(".py") else sorted((SOURCE / room).glob("*.py"))
        for path in paths:
            used = {
                node.attr
                for node in ast.walk(ast.parse(path.read_text()))
                if isinstance(node, ast.Attribute)
            }
            assert used.isdisjoint(forbidden), path
            assert "followers" not in imports(path), path


def test_importing_the_library_imports_nothing_it_may_not_need() -> None:
    script = "import sys, bizol; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in run.stdout.split()}
    assert loaded.isdisjoint(
        {
            "jax",
            "torch",
            "pandas",
            "matplotlib",
            "highspy",
            "rich",
            "typer",
            "scipy",
            "piqp",
            "cvxpy",
            "sklearn",
        }
    )
