"""The paper's problem, incentives for agents with limited capacity, solved by two methods."""

import bizol
from bizol.reproduction.instances import BOX, tracking_instance

instance = tracking_instance(BOX)  # 20 incentives, 200 agents
print(bizol.check(instance.problem, instance.start, delta=0.08), "\n")

paper = bizol.minimize(
    instance.problem,
    instance.start,
    method=bizol.BiZOL(delta=0.08, step=0.1, batch=10),
    budget=2_000,
    seed=0,
)
print("The method of the paper:", paper, sep="\n", end="\n\n")

default = bizol.minimize(instance.problem, instance.start, budget=2_000, seed=0)
print("The default:", default, sep="\n")
