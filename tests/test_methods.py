"""Algorithm 1 to the digit, VZO likewise, schedules, and what every method promises."""

from __future__ import annotations

from fractions import Fraction
from itertools import islice
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bizol
from bizol import VZO, BiZOL
from bizol.directions import Coordinates, OrthonormalBlocks, Rademacher, Sphere
from bizol.methods import PowerLaw
from bizol.methods.two_point.probing import draw_directions
from bizol.randomness import CERTIFICATE, OUTPUT, generator
from bizol.testing import check_method
from tests.problems import Counting, Given, affine, quadratic, saturated

METHODS = [
    BiZOL(delta=0.1, step=0.1, batch=2),
    BiZOL(
        delta=PowerLaw(0.5),
        step=bizol.methods.open_loop(),
        batch=lambda k: 1 + k % 3,
        directions=OrthonormalBlocks(),
    ),
    VZO(delta=0.1, step=0.1, batch=2),
    VZO(
        delta=lambda k: 0.5 / (k + 1),
        step=bizol.methods.inverse_sqrt(),
        batch=3,
        directions=Rademacher(),
    ),
]
every_method = pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)


# --- by hand, in exact rational arithmetic

HALF = Fraction(1, 2)
DIRECTIONS: list[Any] = [
    [(1, 0), (HALF, HALF)],
    [(0, 1), (HALF, -HALF)],
    [(1, 0), (0, 1)],
]  # three iterations, B = 2
DELTA, STEP = HALF, Fraction(1, 4)


def respond(x: Any) -> list[Any]:
    """A kinked follower on two decisions with three responses."""
    return [x[0] + 2 * x[1], min(x[0], Fraction(1, 4)), max(x[0] - x[1], 0 * x[0])]


def phi(x: Any, y: Any) -> Any:
    return x[0] * y[0] + x[1] ** 2 + y[1] ** 2 - 3 * y[2]


def phi_x(x: Any, y: Any) -> list[Any]:
    return [y[0], 2 * x[1]]


def phi_y(x: Any, y: Any) -> list[Any]:
    return [x[0], 2 * y[1], -3 + 0 * y[2]]


def dot(left: Any, right: Any) -> Any:
    return sum(a * b for a, b in zip(left, right, strict=True))


def frank_wolfe(x: list[Fraction], gradient: list[Fraction]) -> tuple[list[Fraction], Fraction]:
    """A step over the box [−1, 1]², and the gap."""
    vertex = [Fraction(1) if g < 0 else Fraction(-1) for g in gradient]
    gap = dot(gradient, [a - z for a, z in zip(x, vertex, strict=True)])
    return [a + STEP * (z - a) for a, z in zip(x, vertex, strict=True)], gap


def algorithm_1(x: list[Fraction], directions: Any) -> tuple[list[Fraction], Fraction, Fraction]:
    """Lines 3 to 10 of Algorithm 1, written out."""
    y = respond(x)
    d_x, d_y = phi_x(x, y), phi_y(x, y)
    jacobian = [[Fraction(0)] * 2 for _ in range(3)]
    for w in directions:
        plus = respond([a + DELTA * b for a, b in zip(x, w, strict=True)])
        minus = respond([a - DELTA * b for a, b in zip(x, w, strict=True)])
        for i in range(3):
            for j in range(2):
                jacobian[i][j] += (
                    Fraction(2) / (2 * DELTA) * (plus[i] - minus[i]) * w[j] / len(directions)
                )
    gradient = [d_x[j] + sum(jacobian[i][j] * d_y[i] for i in range(3)) for j in range(2)]
    after, gap = frank_wolfe(x, gradient)
    return after, gap, phi(x, y)


def vanilla(x: list[Fraction], directions: Any) -> tuple[list[Fraction], Fraction, None]:
    """The same with the whole hyperobjective differenced."""
    gradient = [Fraction(0)] * 2
    for w in directions:
        plus = [a + DELTA * b for a, b in zip(x, w, strict=True)]
        minus = [a - DELTA * b for a, b in zip(x, w, strict=True)]
        slope = Fraction(2) / (2 * DELTA) * (phi(plus, respond(plus)) - phi(minus, respond(minus)))
        gradient = [g + slope * b / len(directions) for g, b in zip(gradient, w, strict=True)]
    return *frank_wolfe(x, gradient), None


@pytest.mark.parametrize(("kind", "by_hand"), [(BiZOL, algorithm_1), (VZO, vanilla)])
def test_hand_made_directions_reproduce_the_algorithm_digit_for_digit(
    kind: Any, by_hand: Any
) -> None:
    problem = bizol.Problem(
        objective=bizol.Objective(phi, phi_x, lambda x, y: np.array(phi_y(x, y))),
        response=lambda x: np.array(respond(x), dtype=float),
        feasible_set=bizol.Box([-1, -1], [1, 1]),
    )
    batches = tuple(np.array(batch, dtype=float) for batch in DIRECTIONS)
    method = kind(delta=float(DELTA), step=float(STEP), batch=2, directions=Given(batches))
    x = [Fraction(1, 8), Fraction(1, 2)]
    states = islice(bizol.iterate(problem, method, [float(a) for a in x]), 4)
    assert next(states).x.tolist() == x
    for state, directions in zip(states, DIRECTIONS, strict=True):
        x, gap, value = by_hand(x, directions)
        assert state.x.tolist() == x  # floats equal to fractions: every bit is right
        assert state.move is not None
        assert state.move.gap_estimate == gap
        assert state.move.value == value if value is not None else np.isnan(state.move.value)


def test_random_directions_give_what_a_plain_loop_gives() -> None:
    rng = np.random.default_rng(5)
    jacobian = rng.standard_normal((4, 3))
    problem = affine(jacobian, rng.standard_normal(4))
    method, x = BiZOL(delta=0.08, step=0.1, batch=5), np.array([0.3, -0.2, 0.9])
    state = method.start(problem, x, seed=11)
    for _ in range(40):  # longer than one stretch of directions drawn together
        w = draw_directions(method, state)
        y = problem.response(x)
        slopes = (
            np.array([problem.response(x + 0.08 * v) - problem.response(x - 0.08 * v) for v in w])
            / 0.16
        )
        gradient = x + 3 / 5 * (slopes.T @ w).T @ (y - 0.5)
        x = x + 0.1 * (np.where(gradient < 0, 1.0, -1.0) - x)
        state = method.tell(state, np.array([problem.response(q) for q in method.ask(state)]))
        assert state.x == pytest.approx(x, abs=1e-13)


# --- laws


@every_method
@given(seed=st.integers(0, 2**63))
def test_a_method_passes_its_own_conformance_check(method: Any, seed: int) -> None:
    check_method(method, saturated(), seed=seed)


@every_method
def test_the_same_seed_gives_the_same_bits_and_another_seed_others(method: Any) -> None:
    def trajectory(seed: int) -> Any:
        return np.array(
            [state.x for state in islice(bizol.iterate(saturated(), method, seed=seed), 50)]
        )

    assert np.array_equal(trajectory(1), trajectory(1))
    assert not np.array_equal(trajectory(1), trajectory(2))


@pytest.mark.parametrize("method", METHODS[:3], ids=lambda method: type(method).__name__)
def test_directions_are_never_repeated_along_a_run(method: Any) -> None:
    states = list(islice(bizol.iterate(saturated(), method, seed=0), 80))
    assert len({draw_directions(method, state).tobytes() for state in states}) == 80


def test_the_stream_of_directions_is_that_of_seed_and_iteration() -> None:
    """The key is a promise: with another one, journals of old runs could not be replayed."""

    def drawn(seed: int, key: int, batches: int, count: int, n: int) -> Any:
        rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(key,))))
        return Sphere().draw(rng, batches, count, n)

    small = BiZOL(0.1, 0.1, 2)  # short directions: 32 iterations share a stream
    states = list(islice(bizol.iterate(saturated(), small, seed=7), 40))
    assert np.array_equal(draw_directions(small, states[0]), drawn(7, 0, 32, 2, 3)[0])
    assert np.array_equal(draw_directions(small, states[35]), drawn(7, 32, 32, 2, 3)[3])
    large = BiZOL(0.1, 0.1, 10)  # long ones: each iteration has its own
    states = list(islice(bizol.iterate(saturated(2000), large, seed=7), 3))
    assert np.array_equal(draw_directions(large, states[2]), drawn(7, 2, 1, 10, 2000)[0])
    growing = BiZOL(0.1, 0.1, lambda k: k + 1)
    states = list(islice(bizol.iterate(saturated(), growing, seed=7), 3))
    assert np.array_equal(draw_directions(growing, states[2]), drawn(7, 2, 1, 3, 3)[0])
    medium = BiZOL(0.1, 0.1, 10)  # 2**14 numbers are drawn together at most
    states = list(islice(bizol.iterate(saturated(200), medium, seed=7), 9))
    assert np.array_equal(draw_directions(medium, states[8]), drawn(7, 8, 8, 10, 200)[0])


def test_the_draw_of_the_output_and_certificates_have_streams_of_their_own() -> None:
    streams = [
        generator(3, *key).random(4).tobytes()
        for key in (OUTPUT, CERTIFICATE, *((k,) for k in range(100)))
    ]
    assert len(set(streams)) == 102


def test_a_sampler_that_cannot_be_hashed_or_draws_the_wrong_shape() -> None:
    class Stubborn(list):  # type: ignore[type-arg]
        def draw(self, rng: Any, batches: int, count: int, dimension: int) -> Any:
            return Sphere().draw(rng, batches, count, dimension)

    class Generous:
        def draw(self, rng: Any, batches: int, count: int, dimension: int) -> Any:
            return Sphere().draw(rng, batches, count + 2, dimension)

    run = [
        bizol.minimize(saturated(), method=BiZOL(0.1, 0.1, 2, d), budget=50, seed=0).x
        for d in (Stubborn(), Sphere())
    ]
    assert np.array_equal(run[0], run[1])
    with pytest.raises(
        ValueError, match=r"Generous.draw.* must return shape \(32, 2, 3\).*got \(32, 4, 3\)"
    ):
        bizol.minimize(saturated(), method=BiZOL(0.1, 0.1, 2, Generous()), budget=50)


@pytest.mark.parametrize(
    "sampler", [Sphere(), OrthonormalBlocks(), Coordinates(), Rademacher()], ids=repr
)
def test_bizol_asks_at_x_and_symmetrically_around_it(sampler: Any) -> None:
    method = BiZOL(delta=0.25, step=0.1, batch=4, directions=sampler)
    state = method.start(saturated(), [0.5, 0.0, -0.5], seed=3)
    at, plus, minus = np.split(method.ask(state), [1, 5])
    assert np.array_equal(at[0], state.x)
    assert (plus + minus) / 2 == pytest.approx(np.tile(state.x, (4, 1)))
    assert np.linalg.norm(plus - minus, axis=1) == pytest.approx(np.full(4, 0.5))


def test_queries_per_iteration_are_those_of_the_paper() -> None:
    problem = saturated()
    bizol_state, vzo_state = BiZOL(0.1, 0.1, 7).start(problem), VZO(0.1, 0.1, 7).start(problem)
    assert len(BiZOL(0.1, 0.1, 7).ask(bizol_state)) == 2 * 7 + 1
    assert len(VZO(0.1, 0.1, 7).ask(vzo_state)) == 2 * 7


def test_a_move_tells_what_was_learned_where() -> None:
    problem, method = saturated(), BiZOL(delta=0.1, step=0.5, batch=3)
    start = method.start(problem, [0.2, 0.4, -0.6], seed=0)
    responses = np.array([problem.response(query) for query in method.ask(start)])
    after = method.tell(start, responses)
    move = after.move
    assert move is not None
    assert move.at is start.x
    assert move.hypergradient.at is start.x
    assert np.array_equal(move.response, responses[0])
    assert move.value == problem.objective.value(start.x, responses[0])
    assert move.gap_estimate == pytest.approx(move.hypergradient.value @ (move.at - move.vertex))
    assert after.x == pytest.approx((move.at + move.vertex) / 2)
    assert (move.step, move.delta, move.queries) == (0.5, 0.1, 7)


def test_vectorized_objectives_give_vzo_the_same_bits() -> None:
    def value(x: Any, y: Any) -> Any:
        return (x**2).sum(axis=-1) / 2 + ((y - 0.5) ** 2).sum(axis=-1) / 2

    flat = quadratic()
    rows = bizol.Objective(value, lambda x, y: x, lambda x, y: y - 0.5, vectorized=True)
    single = bizol.Objective(value, flat.grad_x, flat.grad_y)
    runs = [
        [
            state.x
            for state in islice(bizol.iterate(saturated(objective=objective), method, seed=1), 30)
        ]
        for objective in (rows, single)
        for method in (VZO(0.1, 0.2, 3), BiZOL(0.1, 0.2, 3))
    ]
    assert np.array_equal(runs[0], runs[2])
    assert np.array_equal(runs[1], runs[3])


# --- schedules


def test_the_steps_of_the_theory() -> None:
    assert [bizol.methods.open_loop()(k) for k in range(3)] == [1.0, 2 / 3, 0.5]
    assert [bizol.methods.inverse_sqrt()(k) for k in (0, 3, 8)] == pytest.approx(
        [1.0, 1 / 2, 1 / 3]
    )
    assert bizol.methods.horizon_tuned(
        initial_gap=2, smoothness=4, diameter=5, horizon=100
    ) == pytest.approx(np.sqrt(4 / 1e4))
    assert (
        bizol.methods.horizon_tuned(initial_gap=1e9, smoothness=4, diameter=5, horizon=100) == 1.0
    )


def test_schedules_are_followed() -> None:
    method = BiZOL(
        delta=lambda k: 1 / (k + 4), step=bizol.methods.open_loop(), batch=PowerLaw(1, exponent=-1)
    )
    states = list(islice(bizol.iterate(saturated(), method, seed=0), 5))
    moves = [state.move for state in states[1:]]
    assert [move.delta for move in moves if move] == [1 / 4, 1 / 5, 1 / 6, 1 / 7]
    assert [move.step for move in moves if move] == [1.0, 2 / 3, 1 / 2, 2 / 5]
    assert [move.queries for move in moves if move] == [3, 5, 7, 9]


@pytest.mark.parametrize("kind", [BiZOL, VZO])
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"delta": 0.0}, r"\(delta=\.\.\.\) must be positive and finite, got 0.0"),
        ({"delta": np.inf}, r"\(delta=\.\.\.\) must be positive and finite, got inf"),
        ({"delta": "small"}, r"\(delta=\.\.\.\) must be positive and finite, got 'small'"),
        ({"delta": lambda k: -1.0}, r"\(delta=\.\.\.\) must be positive and finite, got -1.0"),
        (
            {"step": 0.0},
            r"\(step=\.\.\.\) must be in \(0, 1\], so that decisions stay feasible, got 0.0",
        ),
        ({"step": 1.5}, r"\(step=\.\.\.\) must be in \(0, 1\].*got 1.5"),
        ({"step": lambda k: 2.0}, r"\(step=\.\.\.\) must be in \(0, 1\].*got 2.0"),
        ({"step": np.nan}, r"\(step=\.\.\.\) must be in \(0, 1\].*got nan"),
        ({"batch": 0}, r"\(batch=\.\.\.\) must be a whole number, at least 1, got 0"),
        ({"batch": 2.5}, r"\(batch=\.\.\.\) must be a whole number, at least 1, got 2.5"),
        ({"batch": lambda k: 0}, r"\(batch=\.\.\.\) must be a whole number, at least 1, got 0"),
        ({"batch": lambda k: 2.9}, r"\(batch=\.\.\.\) must be a whole number, at least 1, got 2.9"),
        (
            {"delta": 1e-16},
            r"\(delta=\.\.\.\) must be large enough to move x at all: 1e-16 is lost",
        ),
        (
            {"directions": "sphere"},
            r"\(directions=\.\.\.\) must have a draw method, .* got 'sphere'",
        ),
    ],
)
def test_parameters_that_cannot_be_right_are_refused(
    kind: Any, parameters: Any, message: str
) -> None:
    follower = Counting(lambda x: x)
    problem = saturated(response=follower)

    def run() -> None:
        method = kind(**({"delta": 0.1, "step": 0.1, "batch": 2} | parameters))
        bizol.minimize(problem, np.full(3, 0.5), method=method, budget=50)

    with pytest.raises(ValueError, match=f"^{kind.__name__}{message}"):
        run()
    assert follower.asked == []


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PowerLaw(0), r"PowerLaw\(scale=\.\.\.\) must be a positive"),
        (lambda: PowerLaw(1, shift=-1), r"PowerLaw\(shift=\.\.\.\) must be a positive"),
        (
            lambda: PowerLaw(1, exponent=True),
            r"PowerLaw\(exponent=\.\.\.\) must be a number, got True",
        ),
        (
            lambda: bizol.methods.horizon_tuned(initial_gap=1, smoothness=1, diameter=0, horizon=1),
            r"horizon_tuned\(diameter=\.\.\.\) must be a positive",
        ),
    ],
)
def test_schedules_that_cannot_be_right_are_refused(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_tell_needs_one_response_per_query() -> None:
    for method, asked in ((BiZOL(0.1, 0.1, 10), 21), (VZO(0.1, 0.1, 10), 20)):
        state = method.start(saturated(), seed=0)
        with pytest.raises(ValueError, match=rf"asked {asked}, got {asked - 1}\."):
            method.tell(state, np.zeros((asked - 1, 3)))
        with pytest.raises(
            ValueError, match=rf"responses of shape \({asked}, m\), got \({asked},\)"
        ):
            method.tell(state, np.zeros(asked))


def test_numbers_of_narrow_types_are_taken_for_what_they_mean() -> None:
    plain = BiZOL(delta=0.25, step=0.5, batch=100)
    for method in (
        BiZOL(delta=np.float32(0.25), step=np.float16(0.5), batch=np.int8(100)),  # type: ignore[arg-type]
        BiZOL(delta=lambda k: np.float32(0.25), step=lambda k: np.float16(0.5), batch=np.int8(100)),  # type: ignore
    ):
        runs = [
            bizol.minimize(saturated(), method=m, budget=402, seed=0).last.x
            for m in (plain, method)
        ]
        assert np.array_equal(runs[0], runs[1])


def test_a_start_outside_of_a_set_without_projection_is_refused_too() -> None:
    ball = bizol.LpBall(np.zeros(3), p=3)
    with pytest.raises(
        ValueError, match="a LpBall of dimension 3, but does not; the set's center does"
    ):
        BiZOL(0.1, 0.1, 2).start(saturated(feasible_set=ball), [2, 0, 0])


def test_a_set_whose_center_is_outside_of_it_is_named() -> None:
    class Hollow:
        dimension, diameter, center = 3, 2.0, np.full(3, 9.0)

        def minimize_linear(self, cost: Any) -> Any:
            return np.zeros(3)

        def contains(self, point: Any, tolerance: float = 1e-9) -> bool:
            return bool(np.abs(point).max() <= 1)

    with pytest.raises(
        ValueError,
        match=r"feasible_set.center must lie in the feasible set, a Hollow of dimension 3",
    ):
        BiZOL(0.1, 0.1, 2).start(saturated(feasible_set=Hollow()))


def test_integers_and_tensors_can_be_told() -> None:
    import torch

    method = BiZOL(0.1, 0.1, 1)
    state = method.start(saturated(), seed=0)
    answers = np.array([[3, 0, 1], [200, 5, 9], [1, 250, 9]])
    expected = method.tell(state, answers.astype(float)).move
    for told in (
        answers,
        answers.astype(np.uint8),
        [list(row) for row in answers],
        [row.astype(np.uint8) for row in answers],
    ):
        move = method.tell(state, told).move
        assert move is not None
        assert expected is not None
        assert np.array_equal(move.hypergradient.value, expected.hypergradient.value)
    tensors = method.tell(state, [torch.tensor(row, dtype=torch.float64) for row in answers]).move
    assert tensors is not None
    assert isinstance(tensors.response, torch.Tensor)


def test_a_response_told_that_is_not_finite_is_named() -> None:
    method = BiZOL(0.1, 0.1, 2)
    answers = np.zeros((5, 3))
    answers[3, 1] = np.nan
    with pytest.raises(
        bizol.EvaluationError, match=r"The response to query 3 is not finite \(1 of 5 are not\)"
    ):
        method.tell(method.start(saturated(), seed=0), answers)


def test_tell_takes_lists_as_well() -> None:
    method = BiZOL(0.1, 0.1, 1)
    state = method.start(saturated(), seed=0)
    answers = [saturated().response(query) for query in method.ask(state)]
    as_lists = method.tell(state, [answer.tolist() for answer in answers])
    assert np.array_equal(as_lists.x, method.tell(state, np.array(answers)).x)


@pytest.mark.parametrize(
    ("x0", "message"),
    [
        ([0.0, 0.0], r"x0 must be a vector of size 3, got shape \(2,\)"),
        (
            [2.0, 0.0, 0.0],
            r"x0 must lie in .* a Box of dimension 3, but is 1 away .* 1 in coordinate 0, not 2",
        ),
        ([np.nan, 0.0, 0.0], r"x0 must hold numbers, but entry \(0,\) is NaN"),
        ([np.inf, 0.0, 0.0], r"x0 must be finite, but entry 0 is inf"),
    ],
)
def test_a_start_outside_of_the_set_is_refused(x0: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        BiZOL(0.1, 0.1, 2).start(saturated(), x0)


def test_a_start_is_copied_and_states_are_read_only() -> None:
    x0 = np.zeros(3)
    state = BiZOL(0.1, 0.1, 2).start(saturated(), x0)
    x0[0] = 0.5
    assert state.x[0] == 0
    for seen in islice(bizol.iterate(saturated(), BiZOL(0.1, 0.1, 2)), 3):
        with pytest.raises(ValueError, match="read-only"):
            seen.x[0] = 0.5


def test_seeds_that_cannot_be_right_are_refused() -> None:
    for seed in (-1, 1.5, "one", True):
        with pytest.raises(ValueError, match="seed must be a non-negative integer or None"):
            BiZOL(0.1, 0.1, 2).start(saturated(), seed=seed)  # type: ignore[arg-type]


def test_methods_say_what_they_are() -> None:
    assert repr(VZO(0.08, bizol.methods.open_loop(), 10)) == (
        "VZO(delta=0.08, step=PowerLaw(scale=2.0, shift=2.0, exponent=1.0), batch=10, "
        "directions=Sphere())"
    )
