"""Small problems of the literature.

Where the follower has no answer outside of X, it is asked at the nearest point of X.
"""

from __future__ import annotations

import numpy as np

import bizol
from benchmarks.peers.problems.case import Case, Split, make_case, squares
from bizol.arrays import Point
from bizol.followers import QuadraticProgram


def bard_1988_1() -> Case:
    """J. F. Bard, Convex two-level optimization, 1988, example 1: φ* = 17 at (1, 0).

    There is a second local solution at (5, 2). The lower level, (y − 1)² − 1.5 x y with y ≤ 3x − 3,
    y ≥ 2x − 8, y ≤ 7 − x, y ≥ 0, is solved by clipping; it is feasible for 1 ≤ x ≤ 5.
    """

    def follower(x: Point) -> Point:
        at = np.clip(x, 1.0, 5.0)
        return np.clip(1 + 0.75 * at, np.maximum(2 * at - 8, 0.0), np.minimum(3 * at - 3, 7 - at))

    def residuals(x: Point, y: Point) -> Point:
        return np.array([x[0] - 5, 2 * y[0] + 1])

    by_x, by_y = np.array([[1.0], [0.0]]), np.array([[0.0], [2.0]])
    return make_case(
        "bard-1988-1",
        squares(residuals, lambda x, y: by_x, lambda x, y: by_y),
        follower,
        bizol.Box([1], [5]),
        split="tune",
        source="J. F. Bard, Mathematical Programming 40, 1988; BOLIB Bard1988Ex1",
        tags="literature kinks multimodal known",
        start=[3.5],
        residuals=residuals,
    )


def bard_1988_2() -> Case:
    """J. F. Bard, 1988, example 2: two quadratic programs share resources; φ* = −6600."""
    bound = np.array([10.0, 5.0, 15.0, 20.0])
    mix = np.array([[0.4, 0.7], [0.6, 0.3]])
    zero = np.zeros((2, 2))
    follower = QuadraticProgram(
        P=2 * np.eye(4),
        q=-2 * np.array([4.0, 13.0, 35.0, 2.0]),
        Q=np.zeros((4, 4)),
        G=np.vstack([np.block([[mix, zero], [zero, mix]]), np.eye(4), -np.eye(4)]),
        h=np.concatenate([np.zeros(4), [20.0, 20.0, 40.0, 40.0], np.zeros(4)]),
        S=np.vstack([np.eye(4), np.zeros((8, 4))]),
    )
    chosen = bizol.Polytope(A_ub=np.ones((1, 4)), b_ub=[40.0], lower=np.zeros(4), upper=bound)

    def slopes(y: Point) -> Point:
        first, second = y[0] + y[2], y[1] + y[3]
        return np.array([2 * first - 200, 2 * second - 160, 2 * first - 200, 2 * second - 160])

    return make_case(
        "bard-1988-2",
        bizol.Objective(
            value=lambda x, y: float(
                -(200 - y[0] - y[2]) * (y[0] + y[2]) - (160 - y[1] - y[3]) * (y[1] + y[3])
            ),
            grad_x=lambda x, y: np.zeros(4),
            grad_y=lambda x, y: slopes(y),
        ),
        lambda x: follower(np.clip(x, 0.0, bound)),
        chosen,
        split="report",
        source="J. F. Bard, Mathematical Programming 40, 1988; BOLIB Bard1988Ex2",
        tags="literature kinks known",
        start=[5.0, 5.0, 15.0, 15.0],
    )


def shimizu_aiyoshi_1981() -> Case:
    """K. Shimizu and E. Aiyoshi, 1981, example 2: φ* = 225 at x = (20, 5).

    There y = clip(x, 0, 10) is (10, 5).
    """
    chosen = bizol.Polytope(
        A_ub=[[-1, -2], [1, 1]], b_ub=[-30, 25], lower=[-np.inf, -np.inf], upper=[np.inf, 15]
    )
    return make_case(
        "shimizu-aiyoshi-1981",
        bizol.Objective(
            value=lambda x, y: float((x[0] - 30) ** 2 + (x[1] - 20) ** 2 - 20 * y[0] + 20 * y[1]),
            grad_x=lambda x, y: np.array([2 * (x[0] - 30), 2 * (x[1] - 20)]),
            grad_y=lambda x, y: np.array([-20.0, 20.0]),
        ),
        lambda x: np.clip(x, 0.0, 10.0),
        chosen,
        split="tune",
        source="K. Shimizu and E. Aiyoshi, IEEE Transactions on Automatic Control 26, 1981; BOLIB",
        tags="literature kinks multimodal known",
        start=[4.0, 14.0],
    )


def aiyoshi_shimizu_1984() -> Case:
    """E. Aiyoshi and K. Shimizu, 1984, example 2, its joint constraint as a penalty.

    The constraint is x₁ + x₂ + y₁ − 2y₂ ≤ 40. The follower minimizes (y₁ − x₁ + 20)² +
    (y₂ − x₂ + 20)² over 2yᵢ ≤ xᵢ − 10 and −10 ≤ yᵢ ≤ 20. φ* = 0 at (0, 0), where the penalty is
    zero, as in the original; its often cited 5 at (25, 30) is a local solution.
    """

    def excess(x: Point, y: Point) -> float:
        return float(max(0.0, x[0] + x[1] + y[0] - 2 * y[1] - 40))

    return make_case(
        "aiyoshi-shimizu-1984",
        bizol.Objective(
            value=lambda x, y: float(2 * x.sum() - 3 * y.sum() - 60) + excess(x, y) ** 2,
            grad_x=lambda x, y: 2 + 2 * excess(x, y) * np.ones(2),
            grad_y=lambda x, y: -3 + 2 * excess(x, y) * np.array([1.0, -2.0]),
        ),
        lambda x: np.clip(x - 20, -10.0, np.clip((x - 10) / 2, -10.0, 20.0)),
        bizol.Box([0, 0], [50, 50]),
        split="report",
        source="E. Aiyoshi and K. Shimizu, IEEE Transactions on Automatic Control 29, 1984; "
        "BOLIB (penalized)",
        tags="literature kinks multimodal known",
        start=[40.0, 20.0],
    )


def clark_westerberg_1990() -> Case:
    """P. A. Clark and A. W. Westerberg, 1990, example 1: φ* = 5 at (1, 3).

    There is a second local solution at x = 5.
    """

    def follower(x: Point) -> Point:
        at = np.clip(x, 0.0, 6.0)
        return np.asarray(np.clip(5.0, (at + 2) / 2, np.minimum(2 * at + 1, 7 - at / 2)))

    def residuals(x: Point, y: Point) -> Point:
        return np.array([x[0] - 3, y[0] - 2])

    by_x, by_y = np.array([[1.0], [0.0]]), np.array([[0.0], [1.0]])
    return make_case(
        "clark-westerberg-1990",
        squares(residuals, lambda x, y: by_x, lambda x, y: by_y),
        follower,
        bizol.Box([0], [6]),
        split="tune",
        source="P. A. Clark and A. W. Westerberg, Computers & Chemical Engineering 14, 1990; BOLIB",
        tags="literature kinks multimodal known",
        start=[3.0],
        residuals=residuals,
    )


def falk_liu_1995() -> Case:
    """J. E. Falk and J. Liu, 1995: the follower copies the leader within [½, 3/2]².

    φ* = −2.25 at (¾, ¾); BOLIB lists −2.1962, the value at (√3/2, √3/2).
    """
    return make_case(
        "falk-liu-1995",
        bizol.Objective(
            value=lambda x, y: float(x @ x - 3 * x.sum() + y @ y),
            grad_x=lambda x, y: 2 * x - 3,
            grad_y=lambda x, y: 2 * y,
        ),
        lambda x: np.clip(x, 0.5, 1.5),
        bizol.Box([0, 0], [2, 2]),
        split="report",
        source="J. E. Falk and J. Liu, Mathematical Programming 70, 1995; BOLIB",
        tags="literature kinks known",
        start=[1.9, 0.1],
    )


def muu_quy_2003_1() -> Case:
    """L. D. Muu and N. V. Quy, 2003, example 1: φ* = −2.0769 at x = 0.8462."""
    follower = QuadraticProgram(
        P=[[2, 1], [1, 1]],
        q=[1, 1],
        Q=[[-3], [1]],
        G=[[2, 1], [-1, 0], [0, -1]],
        h=[1, 0, 0],
        S=[[2], [0], [0]],
    )
    return make_case(
        "muu-quy-2003-1",
        bizol.Objective(
            value=lambda x, y: float(y @ y + x[0] ** 2 - 4 * x[0]),
            grad_x=lambda x, y: 2 * x - 4,
            grad_y=lambda x, y: 2 * y,
        ),
        lambda x: follower(np.clip(x, 0.0, 2.0)),
        bizol.Box([0], [2]),
        split="tune",
        source="L. D. Muu and N. V. Quy, Vietnam Journal of Mathematics 31, 2003; BOLIB",
        tags="literature kinks known",
        start=[1.9],
    )


def muu_quy_2003_2() -> Case:
    """L. D. Muu and N. V. Quy, 2003, example 2: φ* = 23/36 (they report 0.6426)."""
    follower = QuadraticProgram(
        P=[[2, 1, 0], [1, 1, 0], [0, 0, 1]],
        q=[1, 1, 0],
        Q=[[-3, 0], [0, 1], [0, 0]],
        G=np.vstack([[[2, 1, -1]], -np.eye(3)]),
        h=[-2, 0, 0, 0],
        S=np.vstack([[[-1, 2]], np.zeros((3, 2))]),
    )
    return make_case(
        "muu-quy-2003-2",
        bizol.Objective(
            value=lambda x, y: float(
                y[0] ** 2 + y[2] ** 2 - y[0] * y[2] - 4 * y[1] - 7 * x[0] + 4 * x[1]
            ),
            grad_x=lambda x, y: np.array([-7.0, 4.0]),
            grad_y=lambda x, y: np.array([2 * y[0] - y[2], -4.0, 2 * y[2] - y[0]]),
        ),
        follower,
        bizol.Polytope(A_ub=[[1, 1]], b_ub=[1], lower=[0, 0]),
        split="report",
        source="L. D. Muu and N. V. Quy, Vietnam Journal of Mathematics 31, 2003; BOLIB",
        tags="literature kinks",
        start=[0.1, 0.1],
    )


def visweswaran_1996() -> Case:
    """V. Visweswaran and others, 1996, the quadratic example: φ* = −1.2099 at x = 17/9.

    There y = (8/9, 0).
    """
    rows = np.array([[5.0, 4.0], [-5.0, 4.0], [-4.0, 5.0], [4.0, 5.0], [-1.0, 0.0], [0.0, -1.0]])
    follower = QuadraticProgram(
        P=8 * np.eye(2),
        q=[-16, -4],
        Q=[[1], [0]],
        G=rows,
        h=[12, -4, 4, 4, 0, 0],
        S=[[-4], [4], [-4], [4], [0], [0]],
    )
    return make_case(
        "visweswaran-1996",
        bizol.Objective(
            value=lambda x, y: float((x[0] - 1) ** 2 + 2 * y[0] - 2 * x[0]),
            grad_x=lambda x, y: 2 * (x - 1) - 2,
            grad_y=lambda x, y: np.array([2.0, 0.0]),
        ),
        lambda x: follower(np.clip(x, 0.0, 17 / 9)),
        bizol.Box([0], [17 / 9]),  # where the follower has an answer
        split="tune",
        source="V. Visweswaran, C. Floudas, M. Ierapetritou and E. Pistikopoulos, "
        "State of the Art in Global Optimization, 1996",
        tags="literature kinks known",
        start=[0.5],
    )


def colson_2002_5() -> Case:
    """B. Colson, BIPA problem 5, 2002: φ* ≈ 2.75 at x = 1.94.

    The follower's cost e^{y₁} + y₁² + 4y₁ + 2y₂² − 6y₂ rises in y₁, and so do its constraints:
    y₁ = 0, and y₂ is clipped below ln(15 − 6x).
    """

    def follower(x: Point) -> Point:
        at = float(np.clip(x[0], 0.0, 7 / 3))
        return np.array([0.0, float(np.clip(1.5, 0.0, min(2.0, np.log(max(15 - 6 * at, 1.0)))))])

    return make_case(
        "colson-2002-5",
        bizol.Objective(
            value=lambda x, y: float((x[0] - y[1]) ** 4 + (y[0] - 1) ** 2 + (y[0] - y[1]) ** 2),
            grad_x=lambda x, y: 4 * (x - y[1]) ** 3,
            grad_y=lambda x, y: np.array(
                [2 * (y[0] - 1) + 2 * (y[0] - y[1]), -4 * (x[0] - y[1]) ** 3 - 2 * (y[0] - y[1])]
            ),
        ),
        follower,
        bizol.Box([0], [7 / 3]),
        split="report",
        source="B. Colson, BIPA: technical report, University of Namur, 2002; BOLIB",
        tags="literature kinks multimodal known",
        start=[0.2],
    )


def _outrata(name: str, split: Split, *, bent: bool) -> Case:
    """Return a test problem of J. V. Outrata, 1994: ½(y₁ − 3)² + ½(y₂ − 4)² over 0 ≤ x ≤ 10.

    The follower minimizes ½ yᵀH(x)y − (3 + 1.333x) y₁ − x y₂ over y ≥ 0, y₂ ≤ 0.333 y₁ + 1 − 0.1x
    and ‖y‖² ≤ 9 + 0.1x: a root search for the multiplier of the last constraint.
    """
    from scipy.optimize import brentq

    def at_multiplier(multiplier: float, x: float) -> Point:
        hessian = np.array([1.0, 1.0]) + (bent * x * np.array([0.2, 0.1])) + 2 * multiplier
        wish = np.array([3 + 1.333 * x, x]) / hessian
        edge = 1 - 0.1 * x
        free = np.maximum(wish, 0.0)
        if free[1] <= 0.333 * free[0] + edge:
            return free
        # on the line y₂ = 0.333 y₁ + edge, y₁ ≥ 0 and y₂ ≥ 0
        first = (hessian[0] * wish[0] + 0.333 * hessian[1] * (wish[1] - edge)) / (
            hessian[0] + 0.333**2 * hessian[1]
        )
        first = max(first, 0.0, -edge / 0.333)
        return np.array([first, 0.333 * first + edge])

    def follower(x: Point) -> Point:
        at = float(np.clip(x[0], 0.0, 10.0))
        limit = 9 + 0.1 * at

        def excess(multiplier: float) -> float:
            y = at_multiplier(multiplier, at)
            return float(y @ y - limit)

        if excess(0.0) <= 0:
            return at_multiplier(0.0, at)
        return at_multiplier(float(brentq(excess, 0.0, 50.0, xtol=1e-15, rtol=1e-14)), at)

    def residuals(x: Point, y: Point) -> Point:
        return np.asarray((y - np.array([3.0, 4.0])) / np.sqrt(2))

    by_y = np.eye(2) / np.sqrt(2)
    return make_case(
        name,
        squares(residuals, lambda x, y: np.zeros((2, 1)), lambda x, y: by_y),
        follower,
        bizol.Box([0], [10]),
        split=split,
        source="J. V. Outrata, SIAM Journal on Optimization 4, 1994; "
        "F. Facchinei, H. Jiang and L. Qi, 1999",
        tags="literature kinks known" if bent else "literature kinks",
        start=[0.5],
        residuals=residuals,
    )


def outrata_1994_a() -> Case:
    """J. V. Outrata, 1994, with H(x) = diag(1 + 0.2x, 1 + 0.1x): φ* = 3.2077 at x = 4.0604."""
    return _outrata("outrata-1994-a", "tune", bent=True)


def outrata_1994_b() -> Case:
    """The same with H = I."""
    return _outrata("outrata-1994-b", "report", bent=False)
