"""The answers come from elsewhere: people, a laboratory, a market. The method asks, you tell, whenever you can."""

import numpy as np

import bizol

problem = bizol.Problem(
    objective=bizol.Objective(
        value=lambda price, demand: -(price @ demand),  # maximize revenue
        grad_x=lambda price, demand: -demand,
        grad_y=lambda price, demand: -price,
    ),
    response=lambda price: np.maximum(
        2.0 - price, 0.0
    ),  # not called below: we carry the questions ourselves
    feasible_set=bizol.Box([0.0, 0.0], [3.0, 3.0]),
)
method = bizol.BiZOL(
    delta=0.05, step=bizol.open_loop(), batch=2, directions=bizol.OrthonormalBlocks()
)

state = method.start(problem, seed=0)
for _ in range(12):
    questions = method.ask(state)  # (5, 2): prices to try; asking again gives the same ones
    answers = [np.maximum(2.0 - prices, 0.0) for prices in questions]  # in truth: go and find out
    state = method.tell(state, answers)
    assert state.move is not None
    print(
        f"{state.iteration:3d}   revenue {-state.move.value:6.4f}   prices {state.move.at.round(3)}"
    )
