"""Runs are the library's, measures are the definitions', claims can fail, nothing is lost."""

from __future__ import annotations

import ast
import csv
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import fields, replace
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

from bizol import VZO, BiZOL, clarke_gap, iterate
from bizol.directions import Sphere
from bizol.evaluation import Direct
from bizol.followers import BoxProjection
from bizol.reproduction import experiments, paper, printed
from bizol.reproduction.claims import STATEMENTS, TARGETS, check_statements
from bizol.reproduction.exhibits import EXHIBITS
from bizol.reproduction.experiments import (
    FULL,
    QUICK,
    Cell,
    Measured,
    MethodName,
    Setting,
    Store,
    measure,
    measure_all,
    save,
    workers,
)
from bizol.reproduction.instances import (
    BALL,
    BOX,
    GRID,
    Constants,
    TrackingInstance,
    draw_agents,
    response_dominated_instance,
    tracking_instance,
)
from bizol.reproduction.lockstep import queries_per_iteration, run_together
from bizol.reproduction.measures import (
    Crossings,
    clarke_gaps,
    estimator_noise,
    hyperobjective,
    saturation,
    validation_gaps,
)
from bizol.reproduction.record import commit, committed, drift
from bizol.reproduction.reproduce import Reproduction, known, read, reproduce, writable
from bizol.reproduction.results import Results, so_far
from bizol.reproduction.scene import Scene
from bizol.reproduction.sources import digest_sources, find_sources
from tests.browser import Browser

ROOT = Path(__file__).parents[1]
SMALL = Setting(seeds=2, budget=1_000)
EVERY = ("box", "ball", "grid")
both = pytest.mark.parametrize("constants", [BOX, BALL], ids=["box", "ball"])


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Reproduction:
    """All of Section V with two runs each."""
    return reproduce(out=tmp_path_factory.mktemp("quick"), setting=QUICK, jobs=2)


@pytest.fixture(scope="module")
def results(quick: Reproduction) -> Results:
    cells = {experiment: QUICK.cells(experiment) for experiment in EVERY}  # type: ignore[arg-type]
    return read(QUICK, cells, Store(quick.page.parent / "cache"))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def browser() -> Browser:
    return Browser.found()


def small(constants: Constants = BOX, method: MethodName = "Bi-ZOL") -> Cell:
    return Cell(
        constants=constants,
        n=5,
        m=8,
        method=method,
        batch=3,
        seeds=2,
        budget=200,
        closely=True,
        validation=20,
    )


def decisions(instance: TrackingInstance, count: int = 4, runs: int = 2) -> Any:
    n = instance.problem.feasible_set.dimension
    return np.random.default_rng(5).uniform(-1, 1, (count, runs, n))


def rows_of(made: Reproduction, table: str) -> list[dict[str, str]]:
    path = made.page.parent / "tables" / f"{table}.csv"
    return list(csv.DictReader(path.read_text().splitlines()))


class TestInstances:
    @pytest.mark.parametrize("constants", [BOX, BALL, GRID], ids=["box", "ball", "grid"])
    def test_an_instance_is_the_same_every_time_and_has_the_paper_sizes(
        self, constants: Constants
    ) -> None:
        first, second = tracking_instance(constants), tracking_instance(constants)
        assert np.array_equal(first.follower.matrix, second.follower.matrix)
        assert first.problem.feasible_set.dimension == 20
        assert first.follower(first.start).shape == (200,)
        assert first.problem.feasible_set.contains(first.start)

    def test_capacities_bind_at_the_start(self) -> None:
        box, ball = tracking_instance(BOX), tracking_instance(BALL)
        assert 0.1 < (box.follower.active(box.follower(box.start)) != 0).mean() < 0.9
        assert np.linalg.norm(ball.follower(ball.start)) == pytest.approx(BALL.radius)

    @pytest.mark.parametrize("response", ["box", "ball"])
    def test_the_response_dominates_where_the_instance_says_so(
        self, response: Literal["box", "ball"]
    ) -> None:
        instance = response_dominated_instance(response, width=2.0, seed=3)
        x, y = instance.start, instance.follower(instance.start)
        assert instance.problem.feasible_set.contains(x)
        assert np.abs(x).max() > 1  # the start uses the width
        effort = instance.objective.effort / 2 * np.sum((x - instance.objective.x_ref) ** 2)
        assert effort < 0.1 * instance.objective.value(x, y)

    def test_agents_are_drawn_in_the_order_that_instances_rely_on(self) -> None:
        agents = draw_agents(
            np.random.default_rng(4), n=4, m=9, outputs=2, gain=3.0, baseline=0.5, capacity=(1, 2)
        )
        rng = np.random.default_rng(4)
        assert agents.matrix == pytest.approx(3 / 2 * rng.standard_normal((9, 4)))
        assert agents.offset == pytest.approx(0.5 * rng.standard_normal(9))
        assert agents.output == pytest.approx(rng.standard_normal((2, 9)) / 3)
        assert agents.coupling == pytest.approx(rng.standard_normal((4, 9)) / 3)
        assert agents.capacity == pytest.approx(rng.uniform(1, 2, 9))


class TestLockstep:
    @both
    @pytest.mark.parametrize(
        "method", [BiZOL(0.08, 0.1, 3), VZO(0.08, 0.1, 3)], ids=["Bi-ZOL", "VZO"]
    )
    def test_runs_in_lockstep_are_the_runs_of_the_library(
        self, constants: Constants, method: Any
    ) -> None:
        """More than 32 iterations, so that a second block of directions is drawn too."""
        instance = tracking_instance(constants)
        seeds = (0, 7)
        together = run_together(
            instance.problem,
            method,
            instance.start,
            seeds=seeds,
            budget=50 * queries_per_iteration(method),
        )
        for run, seed in enumerate(seeds):
            states = iterate(instance.problem, method, instance.start, seed=seed)
            alone = np.array([state.x for state in islice(states, 51)])
            assert together[:, run] == pytest.approx(alone, abs=1e-11)

    def test_queries_are_counted_as_the_paper_does(self) -> None:
        instance = tracking_instance(BOX)
        for method, iterations in ((BiZOL(0.08, 0.1, 10), 4), (VZO(0.08, 0.1, 10), 5)):
            runs = run_together(
                instance.problem, method, instance.start, seeds=range(3), budget=100
            )
            assert runs.shape == (iterations + 1, 3, 20)

    def test_the_watch_sees_every_pair(self) -> None:
        instance = tracking_instance(BOX, n=5, m=8)
        seen = []
        for method in (BiZOL(0.08, 0.1, 3), VZO(0.08, 0.1, 3)):
            run_together(
                instance.problem,
                method,
                instance.start,
                seeds=range(2),
                budget=70,
                watch=lambda plus, minus: seen.append((plus.shape, minus.shape)),
            )
        assert seen == [((3, 2, 8), (3, 2, 8))] * (10 + 11)


class TestMeasures:
    @both
    def test_the_hyperobjective_is_the_objective_at_the_response(
        self, constants: Constants
    ) -> None:
        instance = tracking_instance(constants, n=5, m=8)
        where = decisions(instance)
        found = hyperobjective(instance, where)
        for index in np.ndindex(found.shape):
            x = where[index]
            assert found[index] == pytest.approx(instance.objective.value(x, instance.follower(x)))

    @both
    def test_the_validation_gap_is_the_papers_formula_asked_of_the_follower(
        self, constants: Constants
    ) -> None:
        instance = tracking_instance(constants, n=5, m=30)
        delta = 0.3
        where = decisions(instance, count=20)
        directions = Sphere().draw(np.random.default_rng(1), 2, 40, 5)
        found = validation_gaps(instance, where, directions, delta)
        evaluator = Direct(instance.problem)
        for index in np.ndindex(found.shape):
            x, w = where[index], directions[index[1]]
            anchor = instance.problem.objective.anchor(x, evaluator.ask(x[None])[0])
            apart = evaluator.ask(x + delta * w) - evaluator.ask(x - delta * w)
            gradient = anchor.grad_x + 5 / (2 * delta * 40) * (apart @ anchor.grad_y) @ w
            gap = gradient @ x + np.abs(gradient).sum()
            assert found[index] == pytest.approx(gap, rel=1e-9)

    def test_clarke_gaps_are_those_of_the_library_also_on_kinks(self) -> None:
        instance = tracking_instance(BOX, n=5, m=8)
        follower = instance.follower
        where = decisions(instance, count=6)
        assert isinstance(follower, BoxProjection)
        row = follower.matrix[2]
        x = where[3, 1]
        where[3, 1] = x + row * (follower.upper[2] - follower.offset[2] - row @ x) / (row @ row)
        where = np.clip(where, -1, 1)
        found = clarke_gaps(instance, where)
        expected = [
            [clarke_gap(instance.problem, point).gap for point in points] for points in where
        ]
        assert found == pytest.approx(np.array(expected), abs=1e-9)

    def test_on_a_kink_the_clarke_gap_is_smaller_than_that_of_the_gradient_next_to_it(self) -> None:
        """So the fallback is taken: |u| has gap 0 at 0, and slopes of size one beside it."""
        base = tracking_instance(BOX, n=1, m=1)
        follower = BoxProjection([[1.0]], [0.0], [-2.0], [0.0])
        objective = replace(
            base.objective,
            effort=1.0,
            tracking=0.0,
            payment=1e-9,
            x_ref=np.array([-0.5]),
            y_ref=np.zeros(1),
            output=np.array([[1.0]]),
            coupling=np.array([[-1.5e9]]),
        )
        problem = replace(base.problem, objective=objective.objective(), response=follower)
        instance = replace(base, objective=objective, follower=follower, problem=problem)
        beside, on = clarke_gaps(instance, np.array([[[-1e-3]], [[0.0]]]))[:, 0]
        assert on == pytest.approx(clarke_gap(problem, np.zeros(1)).gap, abs=1e-9)
        assert on < beside

    def test_clarke_gaps_are_for_the_box_alone(self) -> None:
        instance = tracking_instance(BALL, n=5, m=8)
        with pytest.raises(ValueError, match="box response"):
            clarke_gaps(instance, decisions(instance))

    def test_saturation_counts_capacities_that_bind(self) -> None:
        instance = tracking_instance(BOX, n=5, m=8)
        where = decisions(instance)
        wish = where @ instance.follower.matrix.T + instance.follower.offset
        outside = (wish >= instance.follower.upper) | (wish <= instance.follower.lower)  # type: ignore[union-attr]
        assert saturation(instance, where) == pytest.approx(outside.mean(axis=-1))

    def test_crossings_are_pairs_with_different_active_sets(self) -> None:
        follower = BoxProjection(np.eye(2), [0, 0], [-1, -1], [1, 1])
        crossings = Crossings(follower)
        inside, upper, lower = [0.0, 0.0], [1.0, 0.0], [-1.0, -1.0]
        crossings(np.array([[inside], [inside]]), np.array([[inside], [upper]]))
        crossings(np.array([[upper], [upper]]), np.array([[upper], [lower]]))
        assert crossings.frequency == 0.5
        assert crossings.switches == (0 + 1 + 0 + 2) / 4

    def test_noise_is_the_variance_of_single_estimates(self) -> None:
        instance = tracking_instance(BOX, n=5, m=8)
        delta = 0.3
        x = decisions(instance)[:, 0]
        directions = Sphere().draw(np.random.default_rng(2), 1, 50, 5)[0]
        found = estimator_noise(instance, x, directions, delta)
        objective, follower = instance.objective, instance.follower
        for row, point in enumerate(x):
            pull = objective.grad_y(point, follower(point))
            plus, minus = point + delta * directions, point - delta * directions
            slopes = (follower(plus) - follower(minus)) @ pull
            above, below = (objective.value(side, follower(side)) for side in (plus, minus))
            changes = above - below
            for column, scores in enumerate((slopes, changes)):
                samples = 5 / (2 * delta) * scores[:, None] * directions
                assert found[row, column] == pytest.approx(np.trace(np.cov(samples.T)))


class TestCells:
    @both
    def test_a_cell_comes_back_from_the_store_as_it_was(
        self, constants: Constants, tmp_path: Path
    ) -> None:
        store = Store(tmp_path / "new")
        cell = small(constants)
        assert store.load(cell) is None
        measured = measure(cell)
        save(measured, store.path(cell))
        kept = store.load(cell)
        assert kept is not None
        for field in fields(Measured):
            assert np.array_equal(getattr(kept, field.name), getattr(measured, field.name)), (
                field.name
            )
        assert not list(tmp_path.rglob("*.part"))

    def test_a_damaged_file_is_measured_again(self, tmp_path: Path) -> None:
        store = Store(tmp_path)
        cell = small()
        save(measure(cell), store.path(cell))
        whole = store.path(cell).read_bytes()
        middle = len(whole) // 2
        for damaged in (
            whole[:100],
            b"",
            whole[:-30] + bytes(30),
            whole[:middle] + bytes(40) + whole[middle + 40 :],
        ):
            store.path(cell).write_bytes(damaged)
            assert store.load(cell) is None

    def test_the_key_changes_with_everything_that_determines_the_numbers(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        cell = small()
        other = [
            replace(cell, **change)
            for change in (
                {"batch": 4},
                {"seeds": 3},
                {"budget": 201},
                {"method": "VZO"},
                {"delta": 0.1},
                {"constants": replace(BOX, effort=1.0)},
            )
        ]
        assert len({each.key for each in [cell, *other]}) == 1 + len(other)
        assert cell.key == small().key
        before = cell.key
        monkeypatch.setattr(experiments, "code", lambda: "changed")
        assert cell.key != before

    def test_numbers_are_the_same_bits_whatever_the_number_of_jobs(self, tmp_path: Path) -> None:
        cells = [
            replace(
                small(), n=20, m=200, batch=10, method=method, constants=constants, budget=2_000
            )
            for method in ("Bi-ZOL", "VZO")
            for constants in (BOX, BALL)
        ]
        for jobs in (1, 3):
            with workers(jobs) as pool:
                assert set(measure_all(cells, Store(tmp_path / str(jobs)), pool)) == set(cells)
        for cell in cells:
            one, three = Store(tmp_path / "1").load(cell), Store(tmp_path / "3").load(cell)
            assert one is not None
            for field in fields(Measured):
                assert getattr(one, field.name).tobytes() == getattr(three, field.name).tobytes(), (
                    field.name
                )

    def test_what_is_kept_is_not_measured_again(self, tmp_path: Path) -> None:
        cells = SMALL.cells("ball")
        reproduce(["table-2"], out=tmp_path, setting=SMALL)
        kept = {path: path.stat().st_mtime_ns for path in (tmp_path / "cache").iterdir()}
        assert len(kept) == len(cells)
        next(iter(kept)).unlink()
        reproduce(["table-2"], out=tmp_path, setting=SMALL)
        again = {path: path.stat().st_mtime_ns for path in (tmp_path / "cache").iterdir()}
        assert sum(again[path] != kept[path] for path in kept) == 1

    def test_a_failure_in_a_worker_is_heard(self, tmp_path: Path) -> None:
        with pytest.raises(ValueError, match="must be"), workers(1) as pool:
            list(measure_all([replace(small(), step=2.0)], Store(tmp_path), pool))

    def test_the_environment_is_left_as_it_was(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("OMP_NUM_THREADS", "7")
        monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
        with workers(1):
            assert os.environ["OMP_NUM_THREADS"] == os.environ["MKL_NUM_THREADS"] == "1"
        assert os.environ["OMP_NUM_THREADS"] == "7"
        assert "MKL_NUM_THREADS" not in os.environ


class TestSources:
    """The part of a cell's key that stands for the code."""

    MEASURING = "bizol.reproduction.experiments"
    SOURCE = Path(experiments.__file__).parents[1]

    @pytest.fixture
    def package(self, tmp_path: Path) -> Path:
        """A copy of the package whose files may be changed."""
        ignore = shutil.ignore_patterns("__pycache__")
        return Path(shutil.copytree(self.SOURCE, tmp_path / "bizol", ignore=ignore))

    def digest(self, package: Path) -> str:
        return digest_sources(self.MEASURING, package)

    def test_the_digest_depends_on_the_sources_and_not_on_where_they_are(
        self, package: Path
    ) -> None:
        assert experiments.code() == experiments.code(package) == self.digest(package)

    @pytest.mark.parametrize(
        "changed",
        [
            "reproduction/experiments.py",
            "reproduction/lockstep.py",
            "reproduction/measures.py",
            "reproduction/instances.py",
            "reproduction/paper.py",
            "sensitivity.py",
            "methods/two_point/*.py",
            "feasible_sets/*.py",
            "problem/*.py",
            "objectives/*.py",
        ],
    )
    def test_a_changed_byte_in_what_measures_changes_the_digest(
        self, package: Path, changed: str
    ) -> None:
        paths = list(package.glob(changed))
        assert paths
        for path in paths:
            before = self.digest(package)
            path.write_bytes(path.read_bytes() + b"#")
            assert self.digest(package) != before, path

    @pytest.mark.parametrize(
        "changed",
        [
            "reproduction/figures.py",
            "reproduction/tables.py",
            "reproduction/printed.py",
            "reproduction/claims/*.py",
            "reproduction/reproduce.py",
            "report/*.py",
            "verification/*.py",
            "command_line/*.py",
        ],
    )
    def test_a_change_in_what_presents_does_not(self, package: Path, changed: str) -> None:
        before = self.digest(package)
        paths = list(package.glob(changed))
        assert paths
        for path in paths:
            path.write_bytes(path.read_bytes() + b"#")
        assert self.digest(package) == before

    @pytest.mark.parametrize(
        "statement",
        [
            "from bizol.added import number",
            "from bizol import added",
            "import bizol.added",
            "def later():\n    from bizol.added import number",
        ],
    )
    def test_a_module_newly_imported_is_covered_without_anybody_listing_it(
        self, package: Path, statement: str
    ) -> None:
        added = package / "added.py"
        added.write_text("number = 1\n")
        before = self.digest(package)
        lockstep = package / "reproduction" / "lockstep.py"
        lockstep.write_text(lockstep.read_text() + f"\n{statement}\n")
        imported = self.digest(package)
        added.write_text("number = 2\n")
        assert len({before, imported, self.digest(package)}) == 3

    def test_imports_are_followed_as_python_follows_them(self, tmp_path: Path) -> None:
        files = {
            "__init__.py": "from bizol import unused",
            "unused.py": "",
            "main.py": "from bizol.deep.inner import leaf\nfrom bizol.room import name, door",
            "deep/__init__.py": "from . import sibling",
            "deep/sibling.py": "from ..far import thing",
            "deep/inner/__init__.py": "",
            "deep/inner/leaf.py": "import bizol.loop",
            "deep/other.py": "",
            "far.py": "",
            "room/__init__.py": "name = 1",
            "room/door.py": "import numpy\nif True:\n    import bizol.conditional",
            "room/name_of_nobody.py": "",
            "conditional.py": "if TYPE_CHECKING:\n import bizol.types\nelse:\n import bizol.run",
            "types.py": "",
            "run.py": "",
            "loop.py": "import bizol.main",
        }
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
        found = {
            path.relative_to(tmp_path).as_posix() for path in find_sources("bizol.main", tmp_path)
        }
        left_out = {
            "__init__.py",
            "unused.py",
            "deep/other.py",
            "room/name_of_nobody.py",
            "types.py",
        }
        assert found == set(files) - left_out

    def test_what_measures_takes_no_names_from_the_package_itself(self) -> None:
        """Its `__init__.py` is left out, so names must come from the modules that define them."""
        for path in find_sources(self.MEASURING, self.SOURCE):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Import):
                    assert "bizol" not in [alias.name for alias in node.names], path
                elif isinstance(node, ast.ImportFrom) and node.module == "bizol":
                    for alias in node.names:
                        module = self.SOURCE / alias.name
                        assert module.is_dir() or module.with_suffix(".py").is_file(), path


class TestPaper:
    def test_its_numbers_agree_with_its_own_improvements(self) -> None:
        """Improvements are means of ratios, so they agree with ratios of means to one point."""
        for rows in printed.FINALS.values():
            for ours, theirs, improvement in rows.values():
                ratio = 100 * (theirs.mean - ours.mean) / theirs.mean
                assert ratio == pytest.approx(improvement.mean, abs=1.0)

    def test_its_averages_over_the_grid_agree_with_each_other(self) -> None:
        for column, name in enumerate(("Bi-ZOL", "VZO")):
            for table in (printed.BY_UPPER, printed.BY_LOWER):
                mean = np.mean([row[column] for row in table.values()])
                assert mean == pytest.approx(printed.GRID[name][1], abs=1e-4)
        for table in (printed.BY_UPPER, printed.BY_LOWER):
            for ours, theirs, difference in table.values():
                assert theirs - ours == pytest.approx(difference, abs=1.1e-4)


class TestResults:
    def test_the_final_value_is_the_mean_of_the_last_ten(self, results: Results) -> None:
        cell = results.cell("box", "Bi-ZOL", 10)
        last = [cell.values[-k] for k in range(1, 11)]
        assert cell.finals == pytest.approx(np.mean(last, axis=0))

    def test_normalized_gaps_are_zero_for_the_best_run_and_one_without_progress(
        self, results: Results
    ) -> None:
        flat = replace(results.cell("box", "VZO", 1), values=np.full((4, 2), 5.0))
        down = replace(flat, values=np.array([[5.0, 5.0], [1.0, 3.0], [2.0, 4.0]]))
        grid = {
            (method, 10, n, m): cell
            for n in paper.UPPER
            for m in paper.LOWER
            for method, cell in (("Bi-ZOL", down), ("VZO", flat))
        }
        made = Results(QUICK, {"grid": grid})  # type: ignore[dict-item]
        assert made.normalized(20, 40)["Bi-ZOL"] == pytest.approx([0.0, 0.5])
        assert made.normalized(20, 40)["VZO"] == pytest.approx([1.0, 1.0])

    def test_the_best_so_far_never_rises(self) -> None:
        gaps = np.random.default_rng(0).uniform(size=(50, 3))
        best = so_far(gaps)
        assert (np.diff(best, axis=0) <= 0).all()
        assert (best[-1] == gaps.min(axis=0)).all()


class TestClaims:
    def test_every_claim_of_the_text_holds_in_the_committed_record(self) -> None:
        kept = committed(FULL)
        assert kept is not None
        assert {name for name, holds in kept["claims"].items() if not holds} == set()
        assert set(kept["claims"]) == {statement.name for statement in [*STATEMENTS, *TARGETS]}

    def test_comparisons_fail_when_the_methods_change_places(self, results: Results) -> None:
        def swap(experiment: Any) -> dict[Any, Measured]:
            group: Any = results.measured[experiment]
            swapped = {}
            for (method, *rest), cell in group.items():
                other = group["VZO" if method == "Bi-ZOL" else "Bi-ZOL", *rest]
                swapped[method, *rest] = replace(
                    cell,
                    values=other.values,
                    clarke=other.clarke,
                    queries=other.queries,
                    noise=cell.noise[:, ::-1] if cell.noise.size else cell.noise,
                )
            return swapped

        made: dict[Any, Any] = {experiment: swap(experiment) for experiment in EVERY}
        assert self.failing(made) >= {
            "fewer-steps",
            "smaller-clarke-gap",
            "lower-on-the-box",
            "lower-on-the-ball",
            "vzo-gains-more",
            "difference-shrinks",
            "less-noise",
            "close-to-zero",
            "vzo-far-from-zero",
            "ahead-in-every-pair",
            "ahead-in-every-run",
            "table-1-means",
            "table-2-means",
            "table-2-improvements",
            "grid-average-of-bizol",
            "grid-average-of-vzo",
            "grid-rows",
            "larger-relative-variation",
            "lower-along-the-way",
            "larger-everywhere",
            "steadier-over-dimensions",
        }

    def test_orders_fail_when_they_are_reversed(self, results: Results) -> None:
        """Batch sizes, sizes of the grid, time and the two responses are reversed."""

        def reverse(sizes: tuple[int, ...]) -> dict[int, int]:
            return dict(zip(sizes, reversed(sizes), strict=True))

        batches, upper, lower = map(reverse, (paper.BATCHES, paper.UPPER, paper.LOWER))

        def turn(experiment: Any, other: Any) -> dict[Any, Measured]:
            turned = {}
            for (method, batch, n, m), cell in results.measured[experiment].items():
                source = results.measured[other][method, batches[batch], n, m]
                turned[method, batch, n, m] = replace(
                    cell,
                    values=source.values,
                    queries=source.queries,
                    clarke=results.cell("box", method, batches[batch]).clarke[::-1] + 1,
                    validation=np.full_like(cell.validation, batch),
                    saturated=np.ones_like(cell.saturated),
                )
            return turned

        grid = results.measured["grid"]
        made: dict[Any, Any] = {"box": turn("box", "ball"), "ball": turn("ball", "box")}
        made["grid"] = {key: grid[key[0], key[1], upper[key[2]], lower[key[3]]] for key in grid}
        assert self.failing(made) >= {
            "capacities-bind",
            "certificate-falls",
            "clarke-gap-falls",
            "clarke-follows",
            "gaps-fall-with-batch",
            "values-fall-with-batch",
            "most-visible-when-queries-are-few",
            "certificate-falls-on-the-ball",
            "ball-gaps-fall-with-batch",
            "larger-on-the-ball",
            "gaps-grow-with-upper-dimension",
            "table-2-gaps",
        }

    def test_runs_that_differ_more_are_not_steadier(self, results: Results) -> None:
        wild = dict(results.measured["box"])
        for key, cell in results.measured["box"].items():
            if key[0] == "Bi-ZOL":
                wild[key] = replace(cell, values=cell.values * np.array([0.5, 1.5]))
        assert "steadier" in self.failing({"box": wild})

    def test_a_rising_objective_does_not_fall(self, results: Results) -> None:
        rising = {
            key: replace(cell, values=cell.values[::-1])
            for key, cell in results.measured["box"].items()
        }
        assert "objective-falls" in self.failing({"box": rising})

    def test_growth_with_the_lower_dimension_is_about_these_numbers(self, results: Results) -> None:
        grid = dict(results.measured["grid"])
        for n in paper.UPPER:
            cell = grid["Bi-ZOL", 10, n, 40]
            # Stopped early, so that the gap is larger.
            grid["Bi-ZOL", 10, n, 40] = replace(cell, values=cell.values[:20])
        assert "mild-growth-with-lower-dimension" in self.failing({"grid": grid})

    def test_only_what_was_measured_is_claimed(self, results: Results) -> None:
        some = Results(QUICK, {"ball": results.measured["ball"]})
        assert {claim.name for claim in check_statements(some, STATEMENTS)} == {
            "lower-on-the-ball",
            "certificate-falls-on-the-ball",
            "ball-gaps-fall-with-batch",
        }

    @staticmethod
    def failing(measured: dict[Any, Any]) -> set[str]:
        """Return the names of the claims that do not hold on these data."""
        claims = check_statements(Results(QUICK, measured), [*STATEMENTS, *TARGETS])
        return {claim.name for claim in claims if not claim.holds}


class TestRecord:
    def test_two_runs_agree_with_the_committed_record(self, quick: Reproduction) -> None:
        kept = committed(QUICK)
        assert kept is not None
        assert list(drift(quick.record, kept)) == []
        assert set(kept) == set(quick.record)

    def test_readme_and_docs_show_the_numbers_of_the_record(self) -> None:
        kept = committed(FULL)
        assert kept is not None
        table = (ROOT / "docs" / "table-1.md").read_text()
        rows = [line for line in table.splitlines() if line.startswith("|")]
        for batch, row in zip(paper.BATCHES, rows[2:], strict=True):
            ours, theirs = (
                np.array(kept["box"][f"{name}, B={batch}"]["finals"]) for name in ("Bi-ZOL", "VZO")
            )
            for shown in (ours, theirs, 100 * (1 - ours / theirs)):
                assert f"| {shown.mean():.2f} ± {shown.std(ddof=1):.2f} |" in row
        assert "\n".join(rows) in (ROOT / "README.md").read_text()

    def test_drift_is_named(self) -> None:
        kept = {"table-1": {"1": {"Bi-ZOL": [16.0, 0.5]}}, "claims": {"lower": True}, "more": 1}
        assert list(drift({"table-1": {"1": {"Bi-ZOL": [16.0 + 1e-9, 0.5]}}}, kept)) == []
        assert list(drift({"table-1": {"1": {"Bi-ZOL": [16.1, 0.5]}}}, kept)) == [
            "table-1, 1, Bi-ZOL[0]: 16.1, recorded 16"
        ]
        assert list(drift({"claims": {"lower": False}}, kept)) == [
            "claims, lower: False, recorded True"
        ]
        assert list(drift({"claims": {"new": True}}, kept)) == ["claims, new: not in the record"]
        assert list(drift({"claims": [1.0]}, kept)) != []
        assert list(drift([1.0], [1.0, 2.0])) != []

    def test_records_are_committed_together(self, quick: Reproduction, tmp_path: Path) -> None:
        commit([quick.page.with_name("record.json")], to=tmp_path / "record.json")
        assert json.loads((tmp_path / "record.json").read_text()) == [quick.record]

    def test_there_is_no_record_of_other_settings(self) -> None:
        assert committed(SMALL) is None


class TestReproduce:
    def test_everything_is_there(self, quick: Reproduction) -> None:
        out = quick.page.parent
        for name in EXHIBITS:
            if "figure" in name:
                files = [out / "figures" / f"{name}.{suffix}" for suffix in ("pdf", "svg", "png")]
            else:
                suffixes = ("txt", "md", "csv", "tex")
                files = [out / "tables" / f"{name}.{suffix}" for suffix in suffixes]
            assert min(file.stat().st_size for file in files) > 400
        assert [table.name for table in quick.tables] == [f"table-{k}" for k in (1, 2, 3, 4)]

    def test_tables_hold_the_papers_numbers_and_ours(
        self, quick: Reproduction, results: Results
    ) -> None:
        row = rows_of(quick, "table-2")[0]
        assert float(row["VZO (paper)"]) == 22.13
        assert float(row["validation gap (paper) sd"]) == 0.10
        finals = results.finals("ball", "VZO", 1)
        assert float(row["VZO"]) == pytest.approx(finals.mean())
        assert float(row["VZO sd"]) == pytest.approx(abs(finals[0] - finals[1]) / np.sqrt(2))
        rows = rows_of(quick, "table-4")
        differences = [float(row["VZO − Bi-ZOL (paper)"]) for row in rows]
        assert differences == [0.4150, 0.4299, 0.4537, 0.4301]
        gaps = [results.normalized(n, 200)["Bi-ZOL"] for n in paper.UPPER]
        assert float(rows[3]["Bi-ZOL"]) == pytest.approx(np.mean(gaps))

    def test_a_second_run_only_redraws_and_gives_the_same_files(self, quick: Reproduction) -> None:
        out = quick.page.parent
        kept = {path: path.stat().st_mtime_ns for path in (out / "cache").iterdir()}
        before = quick.page.read_bytes()
        steps: list[tuple[float, float]] = []

        def progress(done: float, total: float) -> None:
            steps.append((done, total))

        reproduce(out=out, setting=QUICK, jobs=1, progress=progress)
        assert {path: path.stat().st_mtime_ns for path in (out / "cache").iterdir()} == kept
        assert quick.page.read_bytes() == before
        assert len(steps) == 1 + 6  # the start, and every figure
        assert steps[-1][0] == pytest.approx(steps[-1][1])
        assert [done for done, _ in steps] == sorted(done for done, _ in steps)

    def test_figures_are_drawn_as_in_the_workers(
        self, results: Results, quick: Reproduction, tmp_path: Path
    ) -> None:
        for name, exhibit in EXHIBITS.items():
            if name.startswith("figure"):
                exhibit.make(*([results] if exhibit.shows else []), tmp_path)
                drawn = (tmp_path / f"{name}.svg").read_bytes()
                assert drawn == (quick.page.parent / "figures" / f"{name}.svg").read_bytes()

    def test_a_part_is_a_part(self, tmp_path: Path) -> None:
        made = reproduce(["figure-2"], out=tmp_path, setting=SMALL)
        assert [made.tables, made.claims, made.targets] == [[], [], []]
        assert {path.name for path in (tmp_path / "figures").iterdir()} == {
            "figure-2.pdf",
            "figure-2.svg",
            "figure-2.png",
        }
        document = made.page.read_text()
        assert 'id="figure-2"' in document
        assert 'id="claims"' not in document

    def test_unknown_exhibits_are_refused_with_those_that_are_known(self) -> None:
        with pytest.raises(ValueError, match=r"'table-9'. Known are: all, table-1, .*figure-6"):
            known(["table-1", "table-9"])
        assert known(["figure-6", "table-1"]) == ["table-1", "figure-6"]
        assert known([]) == known(["all"]) == list(EXHIBITS)

    def test_a_folder_that_cannot_be_written_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        with pytest.raises(ValueError, match=r"file/below cannot be written"):
            writable(tmp_path / "file" / "below")
        writable(tmp_path / "new" / "folder")
        assert [path.name for path in (tmp_path / "new").rglob("*") if path.is_file()] == []
        (tmp_path / "tables").touch()
        with pytest.raises(ValueError, match=r"tables cannot be written"):
            writable(tmp_path)

    def test_interrupted_it_keeps_what_it_has_and_goes_on(self, tmp_path: Path) -> None:
        """A real process and a real Ctrl-C, sent to the whole group as a terminal does."""
        process = self.started(tmp_path, "--seeds", "4")
        while process.poll() is None and not list((tmp_path / "cache").glob("*.npz")):
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGINT)
        _, said = process.communicate(timeout=60)
        assert process.returncode == 130
        assert "Finishing what is under way" in said
        assert "the same command goes on from there" in said
        assert "Traceback" not in said
        kept = {path: path.stat().st_mtime_ns for path in (tmp_path / "cache").glob("*.npz")}
        assert 0 < len(kept) < 8
        assert not list((tmp_path / "cache").glob("*.part"))
        again = self.started(tmp_path, "--seeds", "4")
        again.communicate(timeout=120)
        assert again.returncode == 0
        after = {path: path.stat().st_mtime_ns for path in (tmp_path / "cache").glob("*.npz")}
        assert len(after) == 8
        assert kept.items() <= after.items()

    def test_an_interrupt_in_the_first_moment_is_quiet_too(self, tmp_path: Path) -> None:
        process = self.started(tmp_path, "--seeds", "4")
        # The folder is made just before the workers are.
        while process.poll() is None and not (tmp_path / "figures").exists():
            time.sleep(0.005)
        os.killpg(process.pid, signal.SIGINT)
        _, said = process.communicate(timeout=60)
        assert process.returncode == 130
        assert "Traceback" not in said

    def test_workers_do_not_outlive_a_parent_that_is_killed(self, tmp_path: Path) -> None:
        process = self.started(tmp_path, "--seeds", "200")
        children = self.await_children(process, 1)
        time.sleep(0.5)
        process.kill()
        process.communicate(timeout=60)
        deadline = time.monotonic() + 30
        while any(Path(f"/proc/{child}").exists() for child in children):
            assert time.monotonic() < deadline, "a worker lives on"
            time.sleep(0.05)

    def test_a_worker_that_is_killed_is_one_sentence(self, tmp_path: Path) -> None:
        process = self.started(tmp_path, "--seeds", "200")
        children = self.await_children(process, 3)  # the resource tracker and two workers
        time.sleep(0.5)
        os.kill(max(children), signal.SIGKILL)
        _, said = process.communicate(timeout=60)
        assert process.returncode == 1
        assert "Broken off" in said
        assert "Traceback" not in said

    @staticmethod
    def started(out: Path, *more: str) -> subprocess.Popen[str]:
        command = str(Path(sys.executable).with_name("bizol"))
        arguments = [command, "reproduce", "table-1", "--jobs", "2", "--out", str(out), *more]
        return subprocess.Popen(
            arguments, stderr=subprocess.PIPE, text=True, start_new_session=True
        )

    def await_children(self, process: subprocess.Popen[str], count: int) -> list[int]:
        """Return the processes started by this one, once there are so many."""
        while len(children := self.children(process.pid)) < count:
            assert process.poll() is None, "it ended before it started its workers"
            time.sleep(0.02)
        return children

    @staticmethod
    def children(parent: int) -> list[int]:
        """Return the processes started by this one (from Linux's process table)."""
        listed = Path(f"/proc/{parent}/task/{parent}/children")
        return [int(each) for each in listed.read_text().split()] if listed.exists() else []


class TestPage:
    @pytest.mark.parametrize("width", [1280, 400])
    def test_tables_and_figures_are_there_and_nothing_overflows(
        self, quick: Reproduction, browser: Browser, width: int
    ) -> None:
        seen = browser.look(quick.page, width)
        assert seen["width"] == width
        assert seen["tables"] == [*(f"table-{k}" for k in (1, 2, 3, 4)), "constants"]
        assert seen["figures"] == [f"figure-{k}" for k in (3, 4, 5, 6, 1, 2)]
        assert min(seen["imageWidths"]) > 300  # the pictures were decoded
        assert seen["overflow"] <= 0
        assert seen["sticking"] == []
        assert seen["scrolling"] == 0 or width < 1280  # on a desktop no table needs to be scrolled
        assert seen["claims"] == len(STATEMENTS) + len(TARGETS)
        assert seen["requests"] == 0

    def test_what_overflows_is_seen(self, browser: Browser, tmp_path: Path) -> None:
        """The check above can fail."""
        (tmp_path / "wide.html").write_text("<p style='width:900px'>x</p><figure id='f'></figure>")
        seen = browser.look(tmp_path / "wide.html", 400)
        assert seen["overflow"] > 400
        assert seen["sticking"] == ["P"]


def test_figure_2_shows_what_corollary_1_says() -> None:
    scene = Scene.one_agent()
    low, high = scene.clarke
    assert low < scene.slope < high
    at = np.searchsorted(scene.u, scene.x)
    slope = (scene.smoothed[at + 1] - scene.smoothed[at - 1]) / (scene.u[at + 1] - scene.u[at - 1])
    assert slope == pytest.approx(scene.slope, abs=1e-2)
    assert scene.hyper[at] == pytest.approx(scene.model[at], abs=1e-2)
