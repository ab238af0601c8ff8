"""One self-contained HTML page: no network, no server, no script."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import final

_STYLE = """
:root { color-scheme: light;
  --ink: #1d2330; --soft: #5b6475; --line: #d9dee7; --good: #1f6f3d; --bad: #a3261d; }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem 1rem 4rem; max-width: 70rem;
  color: var(--ink); background: #fff; overflow-wrap: break-word;
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial,
    sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0 0 .5rem; }
h2 { font-size: 1.25rem; margin: 2.5rem 0 .75rem; padding-top: .75rem;
  border-top: 1px solid var(--line); }
nav a { margin-right: 1rem; white-space: nowrap; }
a { color: #0b4f8a; }
.lead { font-size: 1.05rem; }
.wide { overflow-x: auto; margin: 1rem 0 .25rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .875rem;
  min-width: 60%; }
caption { text-align: left; font-weight: 600; padding-bottom: .4rem; }
th, td { padding: .3rem .55rem; text-align: right; border-bottom: 1px solid var(--line);
  white-space: nowrap; }
thead th { border-bottom: 2px solid var(--ink); }
.quoted { color: var(--soft); }
figure { margin: 1.25rem 0; text-align: center; }
figure img { max-width: 100%; height: auto; }
figcaption, .note { color: var(--soft); font-size: .875rem; text-align: left; }
ol.claims { list-style: none; padding: 0; }
ol.claims li { padding: .6rem 0 .6rem .9rem; border-left: 4px solid var(--good); margin: .5rem 0; }
ol.claims li.fails { border-color: var(--bad); }
.verdict { font-weight: 600; color: var(--good); }
.fails .verdict { color: var(--bad); }
.about, .numbers { color: var(--soft); font-size: .875rem; }
@media print {
  nav { display: none; }
  .wide { overflow: visible; }
  h2, figure, .wide { break-inside: avoid; }
}
"""


@final
@dataclass(frozen=True, slots=True)
class Section:
    """A part of a page: its heading and the HTML below it."""

    heading: str
    body: str

    @property
    def anchor(self) -> str:
        """The part of a link after #."""
        return "".join(letter if letter.isalnum() else "-" for letter in self.heading.lower())


def picture(path: Path, *, name: str, alt: str) -> str:
    """Return a figure element that carries the SVG file within itself."""
    data = base64.b64encode(path.read_bytes()).decode()
    return (
        f'<figure id="{escape(name)}">'
        f'<img src="data:image/svg+xml;base64,{data}" alt="{escape(alt)}">'
        f"<figcaption>{escape(alt)}</figcaption></figure>"
    )


def page(title: str, lead: str, sections: list[Section]) -> str:
    """Return the whole document; `lead` is HTML, the title is text."""
    links = " ".join(
        f'<a href="#{section.anchor}">{escape(section.heading)}</a>' for section in sections
    )
    parts = "".join(
        f'<section><h2 id="{section.anchor}">{escape(section.heading)}</h2>{section.body}</section>'
        for section in sections
    )
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{_STYLE}</style></head>"
        f'<body><h1>{escape(title)}</h1><div class="lead">{lead}</div>'
        f"<nav>{links}</nav>{parts}</body></html>\n"
    )
