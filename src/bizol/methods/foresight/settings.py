"""Every threshold of the default method, with its reason.

Lengths are relative to the diameter of X in the method's own units unless it says otherwise. A
threshold without a reason of its own was chosen on the tuning half of `benchmarks/peers`, where
values between a half and twice as much made no difference beyond noise.
"""

from __future__ import annotations

# --- what numbers can tell apart

SMALLEST_RADIUS = 1e-7  # differences over shorter distances are mostly rounding of the answers
SHORTEST_STEP = 1e-11  # two decisions nearer than this are the same for float64
ANSWER_ROUNDING = 1e-12  # relative to an answer: what a deterministic follower may not repeat
VALUE_ROUNDING = 1e-15  # relative to φ: a promised gain below it is none
ECHO_RADIUS = 1e-3  # before smaller differences count, one query is repeated to see the noise
NOISE_MARGIN = 5  # the radius stays so many noises of the response above zero

# --- how far to go

FIRST_RADIUS = 0.1
SECOND_RADIUS = 0.2  # of every later descent: the first one has seen where it began
LARGEST_RADIUS = 0.5
LEAP = 20  # radii that a trial goes, at most, while no trial has failed that knew every direction
WIDTH = 0.1  # of X that explorations go, at most, divided by √n so that it is so in every dimension
EXPLORED = 0.5  # of the radius that explorations go
EXPLORED_WITHIN = 0.7  # of the radius of a region: as wide as trials, which end on its boundary
SPACING = 0.1  # of its length that an exploration keeps from what was asked

# --- what an outcome says (ratio: the gain that came true by the gain promised; trust regions:
# A. R. Conn, N. Gould and Ph. Toint, 2000)

GOOD = 0.75
POOR = 0.25
LESS_DAMPING = 5  # λ is divided by it after a good trial
MORE_DAMPING = 3  # and multiplied by it after a poor one
NEGLIGIBLE_DAMPING = 1e-6  # of the gain: less is none
NEXT_TO_NOTHING = 1e-3  # of all that a descent gained: a trial that gains less has stalled
KNOWN_WITHIN = 2  # radii: a secant that reaches farther says nothing of the region
PATIENCE = 3  # stalls beyond n after which a descent is over
CATCHING_UP = 2  # a descent that needs more than two such spans to reach the best is hopeless
RETURNING = 3  # every third descent begins at the best decision
FAR = 20  # random decisions, of which the one farthest from all answers begins a descent

# --- what is kept

FITTED = 150  # answers that a curved forecast is fitted to, at most: it is cubic in them
WORK = 2_000_000  # numbers in the factors of a forecast, at most,
VECTORS = 60  # but so many vectors are always kept
ONE_THREAD = 3000  # up to so many decisions and responses, more threads make its work slower

# --- forecasts

BEND = 0.1  # how readily differences are explained by curvature, ρ
REMAINDER = 1e-4  # how much of the farther answers a quadratic leaves unexplained, τ
FORGETTING = 0.8  # the share of an error that still counts after one more answer
LARGEST_ERROR = 2  # times the change of the response: worse is not told apart
CLEARLY = 0.25  # the share of the others' squared error below which pieces are taken,
WITNESSES = 3  # where so many answers have shown it: fewer agree with anything
# The squared error of the forecast everywhere counts so many times, and less where it is off by
DOUBT = 2
RELIABLE = 0.3  # a smaller share of what answers differ by, when they are left out

# --- pieces

PIECES_DIMENSION = 60  # above, there are none: one hinge of one component takes O(n³) operations
PIECES_ANSWERS = (4, 30)  # a n + b nearest answers are used: twice what a hinge has parameters
ENOUGH = 1.5  # times n + 1 answers between the limits: those farther away count less,
DECAY = 4  # by this power of the distance, as what a plane leaves unexplained grows with its square
RIDGE = 1e-10  # how much a steep plane costs: where answers are few, the flattest is taken
REPEATED = 1e-9  # of the range of a component: answers so near to its end repeat a limit,
APART = 1e-2  # if their decisions are so far apart, relative to all that was asked
SIDES = 4  # rounds in which answers change sides, at most: most never do after the second
EXPLAINED = 1e-12  # of the variation, squared: what is left when planes explain all answers
KEPT = 1e-8  # of the variation: pieces that are off by less are kept; the ridge's share is 1e-9
SURPLUS = 3  # answers beyond n that a plane explains exactly: then it is right
NEAR = 1e-8  # of the distance of the farthest answer: nearer ones are not told apart
PIECES_WORK = 600_000  # operations for one round of systems, at most,
OVERHEAD = 20_000  # of which one small system costs so many besides its arithmetic,
PLANES = 4  # times as many are looked at for whether they are one plane,
ALWAYS = 4  # but so many components are always fitted

# --- everywhere

EVERYWHERE_DIMENSION = 60  # above, there is none: X is too large for its answers
EVERYWHERE_ANSWERS = 160  # that are used, at most: it is cubic in them
EVERYWHERE_WORK = 200_000  # numbers in the answers, at most
LENGTHS = tuple(0.05 * 2 ** (place / 2) for place in range(13))  # of the diameter, up to 3.2
TRENDS = (0.1, 10.0, 1000.0)  # variances of the slopes of a trend
BENDS = (0.0, 100.0, 10_000.0)  # variances of its curvatures
NOISES = (1e-11, 1e-8, 1e-5, 1e-2)  # variances of what the kernel does not explain
JURORS = 10  # components that decide which kernel it is: those that matter most to φ
OWN_DIMENSION = 12  # up to it, components have kernels of their own: sweeps take n² k³ operations,
OWN = 12  # so many of them: those that matter most to φ
OWN_SEARCHED = 5  # times n + 1 answers: with more, the kernel before is right and only refined
OWN_SWEEPS = 3  # over the choices of such a kernel
IRRELEVANT = 5  # halvings of a coordinate at which it does not count at all
PREFERENCE = 0.5  # of the logarithm of the likelihood: more likely by less is not preferred
REFIT = 1.05  # times the iterations at the last fit: then it is fitted anew where it is not closest
HIDDEN = 10  # rounds in which answers at a limit find their places beyond it, at most
FEATURES = 200  # waves of a random response

# --- leaps

# Leaving answers out, the forecast everywhere is off by at most so much of what they differ by, for
TRUSTED = 1.0  # a leap amid a descent,
CERTAIN = 0.1  # and one to where φ is expected to be lowest, not through a random response;
GROWTH = 1.15  # times the iterations at the last search for one, or for a kernel,
# n over this many queries, at least one, and twice as many for every leap in a row that failed:
FREQUENT = 6  # where X is large, few leaps lead to where nobody has been,
NEARBY = 0.05  # a random response is followed to a place so far from the best decision
FARTHER = 2  # times the gain that a trial promises
LEAPS = 2  # leaps that fail before a descent begins elsewhere: one expected, one random
SCATTERED = 500  # decisions anywhere in X, of which the best
BEGINNINGS = 10  # that are apart
APART_FROM = 0.03  # by so much begin descents through the forecast, until there are
ENOUGH_ENDS = (2, 2)  # a + b w of them for w places where they have ended
REDRAWN = 3  # new values of every coordinate of the best decision found, then,
REDRAWS = 2  # as long as that gains something, at most so often

# --- the subproblem

ROUNDS = 60  # steps of a descent through a forecast,
FEW_ROUNDS = 15  # and through one that costs more than
COSTLY = 100_000  # numbers an evaluation
# Kinks are smooth at first and sharp at last, in units of how much the answers differ: a step of a
# hundred is one that a few Newton steps can follow, and 1e-8 is what remains of their digits.
TEMPERATURES = (1e-2, 1e-4, 1e-6, 1e-8)
COARSE = TEMPERATURES[:2]  # of a search in all of X: a trial sharpens what it finds
SEARCHING = 2  # steps at each of them
SHARPENING = 4  # Newton steps at each temperature, at most,
SMOOTH_STEPS = 10  # and so many where there are no kinks
SLIDING = 12  # first-order steps at each temperature, on sets without a projection
NEWTON_DIMENSION = 60  # above, Hessians take too many evaluations of φ
DIFFERENCE = 1e-3  # of the region: over what a Hessian is worked out


def kept(wanted: int, size: int) -> int:
    """Return how many vectors of this size are kept, of those that would be good to have."""
    return min(wanted, max(VECTORS, WORK // size))
