"""One style for all figures, and the three files each of them becomes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

FORMATS = ("pdf", "svg", "png")

# Lines differ in darkness and in style too, so that they are told apart in gray and by any eyes.
OURS = "#0b4f8a"
THEIRS = "#d1731c"
BASE = "#6a3d9a"
MODEL = "#c62828"
SMOOTH = "#2e7d32"

# What would make the files of the same figure differ: dates and versions.
_NO_METADATA: dict[str, dict[str, None]] = {
    "pdf": {"CreationDate": None},
    "svg": {"Date": None},
    "png": {"Software": None},
}

_STYLE = {
    "font.family": "STIXGeneral",
    "mathtext.fontset": "stix",
    "font.size": 10,
    "axes.titlesize": 10,
    "axes.labelsize": 10,
    "legend.fontsize": 9,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.5,
    "savefig.dpi": 200,
    "svg.fonttype": "path",  # the same letters everywhere
    "svg.hashsalt": "bizol",  # the same file every time
    "pdf.fonttype": 42,
}


@contextmanager
def canvas() -> Iterator[Any]:
    """Yield matplotlib's pyplot in our style, without a screen."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    with pyplot.rc_context(_STYLE):
        yield pyplot


def save(figure: Any, folder: Path, name: str) -> list[Path]:
    """Write a figure in every format and close it; the same figure gives the same bytes."""
    from matplotlib import pyplot

    paths = []
    for suffix in FORMATS:
        path = folder / f"{name}.{suffix}"
        figure.savefig(path, metadata=_NO_METADATA[suffix])
        paths.append(path)
    pyplot.close(figure)
    return paths
