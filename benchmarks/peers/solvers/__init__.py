"""The solvers, behind one interface: they see a counted follower and stop with the budget.

Sets. A box is given to every peer as bounds. The other sets are given as linear constraints (and a
ball as a smooth one, with what lies well outside projected before it is asked) to SLSQP and COBYQA,
and as a projection to SPSA, whose theory projects. The rest (CMA-ES, NGOpt, L-BFGS-B, TPE, DFO-LS,
POUNDERS, MSP, composite Bayesian optimization) search the smallest box around the set, and what
they propose is projected before it is asked: they minimize φ(Π(z), y(Π(z))) over z in that box.
"""

from __future__ import annotations

from benchmarks.peers.solvers.bayesian import composite_bo
from benchmarks.peers.solvers.local import cobyqa, l_bfgs_b, slsqp
from benchmarks.peers.solvers.oracle import (
    BudgetSpent,
    Oracle,
    Peer,
    Solver,
    UnsuitableError,
    run_solver,
)
from benchmarks.peers.solvers.ours import ABLATIONS, default, paper, vzo
from benchmarks.peers.solvers.sampling import cma_es, ngopt, random_search, spsa, tpe
from benchmarks.peers.solvers.structured import dfo_ls, msp, pounders

__all__ = [
    "PEERS",
    "SOLVERS",
    "BudgetSpent",
    "Oracle",
    "Peer",
    "Solver",
    "UnsuitableError",
    "run_solver",
]

PEERS: dict[str, Peer] = {
    "bizol": Peer(solve=default),
    "paper-b10": Peer(solve=paper(10)),
    "paper-b1": Peer(solve=paper(1)),
    "vzo": Peer(solve=vzo),
    "spsa": Peer(solve=spsa),
    "cma-es": Peer(solve=cma_es, package="cma"),
    "ngopt": Peer(solve=ngopt, package="nevergrad"),
    "l-bfgs-b": Peer(solve=l_bfgs_b),
    "slsqp": Peer(solve=slsqp),
    "cobyqa": Peer(solve=cobyqa),
    "dfo-ls": Peer(solve=dfo_ls, package="dfols"),
    "pounders": Peer(solve=pounders, package="ibcdfo"),
    "msp": Peer(solve=msp, package="ibcdfo"),
    "composite-bo": Peer(solve=composite_bo, package="botorch"),
    "tpe": Peer(solve=tpe, package="optuna"),
    "random": Peer(solve=random_search),
}

# And the default method without one of its parts, for those who name them.
SOLVERS = PEERS | ABLATIONS
