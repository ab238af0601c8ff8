"""The page that shows a reproduction: tables, figures, claims, constants of the instances."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from html import escape
from pathlib import Path
from typing import Any

from bizol.report.page import Section, page, picture
from bizol.report.tables import Column, Table
from bizol.reproduction import paper
from bizol.reproduction.claims import Claim
from bizol.reproduction.exhibits import EXHIBITS
from bizol.reproduction.experiments import Setting
from bizol.reproduction.instances import BALL, BOX, GRID, Constants
from bizol.version import __version__


def write_page(
    shown: Mapping[str, Table | Path],
    *,
    setting: Setting,
    claims: list[Claim],
    targets: list[Claim],
) -> str:
    """Return the page as one HTML document.

    Args:
        shown: The exhibits by name; a figure is the SVG file to include.
        setting: How many runs and queries.
        claims: The claims of the paper's text.
        targets: How near the numbers are to the paper's.

    """

    def show(*names: str) -> str:
        return "".join(_show_exhibit(name, shown[name]) for name in names if name in shown)

    sections = [
        Section("Convergence", show("figure-3")),
        Section("Hyperobjective", show("table-1", "figure-4", "table-2", "figure-5")),
        Section("Dimensions", show("table-3", "table-4", "figure-6")),
        Section("Claims", _list_claims(claims)),
        Section("Distance to the paper", _list_claims(targets)),
        Section("Geometry", show("figure-1", "figure-2")),
        Section("Instances", _tabulate_constants()),
    ]
    return page(
        "Bi-ZOL, Section V, reproduced",
        _introduce(setting, claims),
        [each for each in sections if each.body],
    )


def _show_exhibit(name: str, exhibit: Table | Path) -> str:
    if isinstance(exhibit, Table):
        return exhibit.html()
    return picture(exhibit, name=name, alt=EXHIBITS[name].caption)


def _introduce(setting: Setting, claims: list[Claim]) -> str:
    """Return the paragraphs at the top of the page."""
    verdict = ""
    if claims:
        holding = f"{sum(claim.holds for claim in claims)} of {len(claims)} claims"
        verdict = (
            f"<p><strong>{holding}</strong> of the paper's Section V hold here: "
            f"<a href='#claims'>see which</a>.</p>"
        )
    return (
        f"{verdict}<p>Both methods on the incentive-based tracking problem: "
        f"{setting.seeds} runs each, {setting.budget:,} response queries per run, "
        f"δ = {paper.DELTA}, γ = {paper.STEP}, the same instance and the same start for both. "
        f"<strong>The constants of the instances are ours</strong>, found by search so that the "
        f"numbers land near the paper's: it prints sizes and parameters, but not its data.</p>"
        f'<p class="note">Z. Jiang and S. Bolognani, <cite>Bi-ZOL: Bilevel Zeroth-Order Learning '
        f"with Nonsmooth Responses</cite>. Made by bizol {escape(__version__)}, "
        f"<code>bizol reproduce</code>.</p>"
    )


def _list_claims(claims: list[Claim]) -> str:
    if not claims:
        return ""
    items = "".join(_show_claim(claim) for claim in claims)
    note = "Numbers with slashes are for B = 1 / 5 / 10 / 50, unless another list is named."
    return f'<p class="note">{note}</p><ol class="claims">{items}</ol>'


def _show_claim(claim: Claim) -> str:
    if claim.holds:
        kind, verdict = "holds", "Holds"
    else:
        kind, verdict = "fails", "Does not hold"
    return (
        f'<li id="{escape(claim.name)}" class="{kind}">'
        f'<span class="verdict">{verdict}.</span> {escape(claim.says)} '
        f'<span class="about">({escape(claim.about)})</span><br>'
        f'<span class="numbers">{escape(claim.numbers)}</span></li>'
    )


def _tabulate_constants() -> str:
    names = ("constant", "box", "ball", "grid")
    rows = []
    for field in fields(Constants):
        values = [_write_constant(getattr(each, field.name)) for each in (BOX, BALL, GRID)]
        rows.append((field.name.replace("_", " "), *values))
    return Table(
        name="constants",
        title="The constants of the three families of instances (ours)",
        columns=tuple(Column(name=name) for name in names),
        rows=tuple(rows),
        note="Every instance is drawn by bizol.reproduction.instances.tracking_instance.",
    ).html()


def _write_constant(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, tuple):
        low, high = value
        return f"{low} to {high}"
    return str(value)
