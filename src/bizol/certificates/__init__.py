"""Frank–Wolfe gaps, which tell how stationary a point is.

They are exact for followers of known structure, and certified by queries for all.

smooth    G^sm(x) = max_z ⟨x − z, ∇φ̃(x)⟩                       Definition 3
Clarke    G^c(x)  = min_{g ∈ ∂^c φ̃(x)} max_z ⟨x − z, g⟩        Definition 4
Bi-ZOL    G_δ(x)  = max_z ⟨x − z, g_δ(x)⟩                       Definition 5
"""

from bizol.certificates.certificate import Certificate, ErrorParts, certify
from bizol.certificates.clarke_bound import ClarkeBound, transfer
from bizol.certificates.estimate import HypergradientEstimate, estimate_hypergradient
from bizol.certificates.gaps import ExactGap, bizol_gap, clarke_gap, smooth_gap

__all__ = [
    "Certificate",
    "ClarkeBound",
    "ErrorParts",
    "ExactGap",
    "HypergradientEstimate",
    "bizol_gap",
    "certify",
    "clarke_gap",
    "estimate_hypergradient",
    "smooth_gap",
    "transfer",
]
