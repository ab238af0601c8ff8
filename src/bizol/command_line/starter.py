"""A small working problem to start from: the files that `bizol new` writes."""

from __future__ import annotations

import keyword
import re
from importlib.util import find_spec
from pathlib import Path

PROBLEM = '''\
"""Three prices, and customers who answer with what they buy. Replace it with your own problem."""

import bizol
import numpy as np

Vector = np.ndarray

COST = 0.5  # of one piece
WANTED = np.array([2.0, 1.6, 1.2])  # what is bought of each product at price zero
STOCK = 0.6  # of each product


def respond(prices: Vector) -> Vector:
    """The follower, y(x): what customers buy. Ask a market, a simulator or a solver here."""
    return np.clip(WANTED - prices, 0.0, STOCK)


def loss(prices: Vector, bought: Vector) -> float:
    """The objective, φ(x, y), to be minimized; here, minus the profit."""
    return -float((prices - COST) @ bought)


def loss_x(prices: Vector, bought: Vector) -> Vector:
    """Its gradient in x, as if y did not depend on x."""
    return -bought


def loss_y(prices: Vector, bought: Vector) -> Vector:
    """Its gradient in y."""
    return COST - prices


objective = bizol.Objective(loss, loss_x, loss_y)
'''

RUN_FILE = """\
[objective]
import = "{module}:objective"

[follower]
# Or command = "./simulator --fast", url = "https://...", outside = true.
import = "{module}:respond"

[set]
kind = "Box"                         # or Simplex, Ball, Polytope, ...
lower = [0, 0, 0]
upper = [2, 2, 2]

[run]
budget = 200                         # how many responses may be asked for
seed = 0                             # makes the run repeatable
"""

TEST = '''\
"""Tests of the problem that should keep passing when you change it."""

from pathlib import Path

import bizol
import numpy as np
from bizol.command_line.run_file import load
from {module} import loss, respond

RUN = load(str(Path(__file__).with_name("{module}.toml")))


def test_answers_repeat_and_gradients_are_those_of_the_value() -> None:
    bizol.check(RUN.problem)


def test_the_follower_answers_without_jumps() -> None:
    bizol.testing.check_follower(RUN.problem.response, RUN.problem.feasible_set, delta=0.01)


def test_the_best_prices_are_found() -> None:
    # By hand: halfway between cost and demand, or where the stock is just sold.
    best = np.array([1.4, 1.05, 0.85])
    profit = -loss(best, respond(best))
    solution = bizol.minimize(RUN.problem, budget=RUN.options["budget"], seed=RUN.options["seed"])
    assert 0.99 * profit < -solution.value <= profit
'''


def begin(folder: Path) -> dict[Path, str]:
    """Write a small working problem into a new folder, and return its files with their purposes.

    Args:
        folder: a folder that does not exist yet or is empty; the module is named after it.

    Raises:
        ValueError: if the folder is not empty, or a new module cannot have its name.

    """
    folder = folder.absolute()
    module = _name_module(folder.name)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ValueError(f"{folder} is there already; nothing was written. Choose another name.")
    folder.mkdir(parents=True, exist_ok=True)
    files = {
        f"{module}.py": (PROBLEM, "the follower and the objective"),
        f"{module}.toml": (RUN_FILE, "the feasible set, the budget, the seed"),
        f"test_{module}.py": (TEST, "tests of both"),
    }
    written = {}
    for name, (text, purpose) in files.items():
        with (folder / name).open("x", encoding="utf-8") as file:
            file.write(text.replace("{module}", module))
        written[folder / name] = purpose
    return written


def _name_module(name: str) -> str:
    """Return the name of the module of a problem."""
    module = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
    if not module.isidentifier() or keyword.iskeyword(module):
        raise ValueError(
            f"{name!r} must begin with a letter from a to z and be a name, such as my-problem."
        )
    if find_spec(module) is not None:
        raise ValueError(
            f"{name!r} would be the module {module}, and there is one of that name; "
            f"choose another name."
        )
    return module
