"""Ask and tell: the method asks, and you answer from a laboratory, a market or a survey."""

import numpy as np

import bizol

problem = bizol.Problem(
    objective=bizol.Objective(
        value=lambda price, demand: -(price @ demand),  # maximize revenue
        grad_x=lambda price, demand: -demand,
        grad_y=lambda price, demand: -price,
    ),
    # Not called below: we carry the questions ourselves.
    response=lambda price: np.maximum(2.0 - price, 0.0),
    feasible_set=bizol.Box([0.0, 0.0], [3.0, 3.0]),
)
method = bizol.BiZOL(
    delta=0.05,
    step=bizol.methods.open_loop(),
    batch=2,
    directions=bizol.directions.OrthonormalBlocks(),
)

state = method.start(problem, seed=0)
for _ in range(12):
    questions = method.ask(state)  # (5, 2): prices to try; asking again gives the same ones
    answers = [np.maximum(2.0 - prices, 0.0) for prices in questions]  # in truth: go and find out
    state = method.tell(state, answers)
    assert state.move is not None
    revenue, prices = -state.move.value, state.move.at.round(3)
    print(f"{state.iteration:3d}   revenue {revenue:6.4f}   prices {prices}")
