"""Section III: the chain rule, the anchored model, the structural bias."""

from __future__ import annotations

from functools import partial

import numpy as np

from bizol.arrays import Point, Points
from bizol.directions import Sphere
from bizol.evaluation import Direct
from bizol.followers import BoxProjection
from bizol.reproduction.instances import BOX, tracking_instance
from bizol.sensitivity import average_slopes
from bizol.structure.anchored_model import AnchoredModel
from bizol.structure.averages import ball_points
from bizol.structure.clarke import (
    approximate_hypergradient,
    clarke_subdifferential,
    set_variation,
    structural_bias,
)
from bizol.structure.hulls import Hull
from bizol.theory import exponent
from bizol.verification.finding import (
    Example,
    Finding,
    decisions,
    example,
    numerical_gradient,
    on_boundary,
    on_kinks,
)


def remark_1() -> Finding:
    """A strongly convex lower level with L-Lipschitz data has an (L/μ)-Lipschitz response."""
    case = example("program")
    follower = case.follower
    bound = float(np.linalg.norm(follower.Q, 2) / np.linalg.eigvalsh(follower.P)[0])  # L_gx / μ
    pairs = zip(decisions(case, 200, seed=1), decisions(case, 200, seed=2), strict=True)
    ratios = [np.linalg.norm(follower(x) - follower(z)) / np.linalg.norm(x - z) for x, z in pairs]
    return Finding(
        statement="Remark 1",
        checked="‖y(x) − y(x')‖ / ‖x − x'‖ over 200 pairs, against L_gx/μ",
        on=case.name,
        measured=float(max(ratios)),
        relation="≤",
        bound=bound,
    )


def hyperobjective(case: Example, x: Point) -> float:
    """Return φ(x, y(x))."""
    response = Direct(case.problem).ask(x[None])
    return float(case.problem.objective.values(x[None], response)[0])


def mutual_distance(found: Points, hull: Hull) -> float:
    """Return the larger of two distances: found vectors to the hull, its generators to them."""
    outside = max(hull.distance(vector) for vector in found)
    missed = max(float(np.linalg.norm(found - vector, axis=1).min()) for vector in hull.generators)
    return max(outside, missed)


def proposition_1() -> Finding:
    """The limits of gradients around a point generate the set of the chain rule, and no more."""
    worst = 0.0
    places = [(example("box"), on_kinks(example("box"), kinks)) for kinks in (0, 1, 2)]
    places.append((example("ball"), on_boundary(example("ball"))))
    for case, x in places:
        nearby = x + 1e-4 * ball_points(x.size, 64, seed=2)
        reduced = partial(hyperobjective, case)
        gradients = np.array([numerical_gradient(reduced, u, 1e-8) for u in nearby])
        clarke = clarke_subdifferential(case.problem, x, 1e-9)
        worst = max(worst, mutual_distance(gradients, clarke))
    return Finding(
        statement="Proposition 1",
        checked="distance between gradients of φ̃ within 10⁻⁴ and the chain-rule set, both ways, "
        "on 0, 1, 2 kinks",
        on="box and ball response, n=3, m=6",
        measured=worst,
        relation="≤",
        bound=5e-3,
        note="zero up to the distance looked at",
    )


def remark_2() -> Finding:
    """Bi-ZOL's estimate has less variance than full smoothing, which averages the known as well."""
    instance = tracking_instance(BOX)
    objective, follower = instance.objective, instance.follower
    x = instance.start
    delta, n = 0.08, 20
    (directions,) = Sphere().draw(np.random.default_rng(0), 1, 4000, n)
    plus, minus = x + delta * directions, x - delta * directions
    up, down = follower(plus), follower(minus)
    slopes = (up - down) @ objective.grad_y(x, follower(x))
    ours = average_slopes(slopes[:, None], directions[:, None], spacing=2 * delta)
    changes = objective.value(plus, up) - objective.value(minus, down)
    full = average_slopes(changes[:, None], directions[:, None], spacing=2 * delta)
    ratio = float(full.var(axis=0).sum() / ours.var(axis=0).sum())
    return Finding(
        statement="Remark 2",
        checked="variance of the full-smoothing estimate over that of Bi-ZOL's, 4,000 directions",
        on="tracking problem, box response, n=20, m=200",
        measured=ratio,
        relation="≥",
        bound=1.0,
        note="a property of problems with much known exactly, not of all",
    )


def proposition_2() -> Finding:
    """Q_x has the Clarke set of φ̃ at x, and g_δ is the gradient of Q_{x,δ} at x.

    It is a Goldstein subgradient of Q_x as well.
    """
    case = example("box")
    delta = 0.3
    same = 0.0
    gradient = 0.0
    goldstein = 0.0
    for kinks in (0, 1, 2):
        x = on_kinks(case, kinks)
        model = AnchoredModel(case.problem, x)
        nearby = x + 1e-4 * ball_points(x.size, 64, seed=2)
        slopes = np.array([numerical_gradient(model.value, u, 1e-8) for u in nearby])
        same = max(same, mutual_distance(slopes, clarke_subdifferential(case.problem, x)))
        direction = approximate_hypergradient(case.problem, x, delta).value
        smoothed = numerical_gradient(partial(model.smoothed_value, delta=delta), x, 1e-5)
        gradient = max(gradient, float(np.abs(direction - smoothed).max()))
        goldstein = max(goldstein, model.goldstein(delta).distance(direction))
    return Finding(
        statement="Proposition 2",
        checked="∂^c Q_x(x) = ∂^c φ̃(x); g_δ = ∇Q_{x,δ}(x) by differences; g_δ ∈ ∂_δ Q_x(x)",
        on=case.name,
        measured=max(same, gradient, goldstein),
        relation="≤",
        bound=1e-6,
        note=f"errors {same:.0e}, {gradient:.0e}, {goldstein:.0e}",
    )


def definition_1() -> Finding:
    """ω(x, δ) is the supremum over the ball: no sample exceeds it.

    Where it is called exact, samples reach it.
    """
    worst = 0.0
    missed = 0.0
    for case in (example("box"), example("ball"), example("smooth")):
        for x in decisions(case, 5):
            omega = set_variation(case.follower, x, 0.15)
            here = case.follower.limiting_jacobians(x)[0]
            nearby = [
                case.follower.limiting_jacobians(x + 0.15 * v, 0.0)[0]
                for v in ball_points(x.size, 1024, seed=3)
            ]
            found = max(float(np.linalg.norm(matrix - here, 2)) for matrix in nearby)
            worst = max(worst, found - omega.value)
            if omega.kind == "exact":
                missed = max(missed, omega.value - found)
    return Finding(
        statement="Definition 1",
        checked="largest ‖J y(s) − J y(x)‖ over 1,024 points s of the ball, minus ω(x, δ); "
        "5 points each",
        on="box, ball and smooth response, n=3, m=6",
        measured=worst,
        relation="≤",
        bound=1e-9,
        note=f"where ω is called exact, samples come within {missed:.0e}",
        also=missed < 1e-9,
    )


def proposition_3() -> Finding:
    """The structural bias is at most ‖d_y‖ ω(x, δ), and vanishes with δ."""
    worst = 0.0
    vanishing = 0.0
    for case in (example("box"), example("ball"), example("smooth")):
        for x in decisions(case, 8):
            for delta in (0.02, 0.1, 0.4):
                bias = structural_bias(case.problem, x, delta)
                # Where the bound is zero, any distance is a violation.
                ratio = bias.distance / bias.bound if bias.bound > 0 else bias.distance
                worst = max(worst, ratio)
            vanishing = max(vanishing, structural_bias(case.problem, x, 1e-5).distance)
    return Finding(
        statement="Proposition 3",
        checked="dist(g_δ, ∂^c φ̃) over its bound ‖d_y‖ ω(x, δ); 8 points, δ = 0.02, 0.1, 0.4",
        on="box, ball and smooth response, n=3, m=6",
        measured=worst,
        relation="≤",
        bound=1.0,
        note=f"at δ = 10⁻⁵ the bias is at most {vanishing:.0e}",
        also=vanishing < 1e-4,
    )


def definition_2() -> Finding:
    """A point is δ-regular exactly when the ball shows no piece that is not active at the point."""
    contradictions = 0
    regular = 0
    box, ball = example("box"), example("ball")
    for case, switching in ((box, on_kinks(box, 1)), (ball, on_boundary(ball))):
        for x in (*decisions(case, 10), switching):
            for delta in (0.005, 0.05, 0.3):
                active = case.follower.pieces(x, 0.0).labels
                within = case.follower.pieces(x, delta).labels
                seen: set[object] = set()
                for v in ball_points(x.size, 256, seed=4):
                    seen |= case.follower.pieces(x + delta * v, 0.0, 0.0).labels
                claimed = case.follower.is_regular(x, delta)
                regular += claimed
                contradictions += claimed != (within <= active) or not seen <= within
    crossing = BoxProjection([[1, 0], [0, 1], [1, 1]], np.zeros(3), np.full(3, -9.0), np.zeros(3))
    around = len(crossing.pieces(np.zeros(2)).labels)
    return Finding(
        statement="Definition 2",
        checked="contradictions between is_regular, I_δ(x) ⊆ I(x) and the pieces seen at 256 "
        "points of the ball",
        on="box and ball response, n=3, m=6; 66 cases",
        measured=contradictions,
        relation="≤",
        bound=0.0,
        note=f"{regular} of the cases are δ-regular; "
        f"three kinks through a point of the plane have {around} pieces",
        also=0 < regular < 66 and around == 6,
    )


def proposition_4() -> Finding:
    """On a δ-regular point of a piecewise C^{1,1} response ω ≤ L δ, and the bias is of order δ."""
    case = example("ball")
    x = on_boundary(case)
    hull = Hull(x, np.array([matrix.ravel() for matrix in case.follower.limiting_jacobians(x)]))
    worst = 0.0
    for delta in (0.01, 0.05, 0.2):
        for v in ball_points(x.size, 256, seed=5):
            for matrix in case.follower.limiting_jacobians(x + delta * v, 0.0):
                miss = matrix - hull.nearest(matrix.ravel()).reshape(matrix.shape)
                distance = float(np.linalg.norm(miss, 2))
                worst = max(worst, distance / (case.follower.curvature * delta))
    # In the plane J y_δ is an integral over a circle, known to eight digits.
    plane = example("ball", n=2)
    at = on_boundary(plane)
    radii = np.array([0.04, 0.02, 0.01, 0.005])
    biases = [structural_bias(plane.problem, at, delta).distance for delta in radii]
    slope = exponent(radii, np.array(biases))
    return Finding(
        statement="Proposition 4",
        checked="dist(V, J^c y(x)) over (max L_i) δ at a point on the boundary, three radii",
        on=case.name,
        measured=worst,
        relation="≤",
        bound=1.0 + 1e-9,
        note=f"the bias grows as δ^{slope:.2f} (n=2)",
        also=abs(slope - 1) < 0.1,
    )


def corollary_1() -> Finding:
    """At δ-regular points of a piecewise affine response the bias is zero, on and off kinks.

    Elsewhere it is not.
    """
    case = example("box")
    worst = 0.0
    regular = 0
    places = [on_kinks(case, kinks, seed) for kinks in (0, 1, 2) for seed in (1, 2, 3, 4)]
    for x in places:
        for delta in (1e-3, 1e-2, 0.05):
            bias = structural_bias(case.problem, x, delta)
            if bias.regular:
                regular += 1
                worst = max(worst, bias.distance)
    kink = on_kinks(case, 1)
    normal = case.follower.matrix[0] / np.linalg.norm(case.follower.matrix[0])
    beside = structural_bias(case.problem, kink - 0.02 * normal, 0.05)
    return Finding(
        statement="Corollary 1",
        checked=f"dist(g_δ, ∂^c φ̃) at {regular} δ-regular points, exact averaging",
        on=case.name,
        measured=worst,
        relation="≤",
        bound=1e-10,
        note=f"beside a kink, not δ-regular, it is {beside.distance:.3g}",
        also=not beside.regular and beside.distance > 1e-3,
    )
