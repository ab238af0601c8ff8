"""Tables say the same in every form, figures are the same files every time, pages stand alone."""

from __future__ import annotations

import csv
import io
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from bizol.report.figures import FORMATS, canvas, save
from bizol.report.page import Section, page, picture
from bizol.report.tables import FORMS, Column, Spread, Table, side_by_side

TABLE = Table(
    name="finals",
    title="Final φ̃(x) & more",
    columns=(Column(name="B"), *side_by_side(["Bi-ZOL", "gap"], 2)),
    rows=(
        (1, Spread(16.591, 0.4), Spread(16.0, 0.5), 0.25, 0.5),
        (50, Spread(0.0034, 0.0016), Spread(11.5, 0.1), 0.0121, 0.0),
    ),
    note="A note with 5 % in it.",
)


class Elements(HTMLParser):
    """Counts what is opened and closed, and collects the text of cells."""

    def __init__(self, document: str) -> None:
        super().__init__()
        self.opened: list[str] = []
        self.closed: list[str] = []
        self.addresses: list[str] = []
        self.cells: list[str] = []
        self.feed(document)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.opened.append(tag)
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href")]
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_endtag(self, tag: str) -> None:
        self.closed.append(tag)

    def handle_data(self, data: str) -> None:
        if self.opened and self.opened[-1] in ("td", "th") and self.cells:
            self.cells[-1] += data


def test_a_mean_comes_with_its_sample_deviation() -> None:
    assert Spread.of([1.0, 2.0, 3.0]) == Spread(2.0, 1.0)


@pytest.mark.parametrize("form", ["txt", "md", "tex"])
def test_every_form_for_people_writes_mean_and_deviation_with_the_digits_they_need(
    form: str,
) -> None:
    written = FORMS[form](TABLE).replace(r"$\pm$", "±")
    for cell in ("16.59 ± 0.40", "16.00 ± 0.50", "0.0034 ± 0.0016", "0.25", "0.012", "0.00"):
        assert cell in written


def test_csv_holds_the_numbers_in_full() -> None:
    first, second = csv.DictReader(io.StringIO(TABLE.csv()))
    assert float(first["Bi-ZOL"]) == 16.591
    assert float(first["Bi-ZOL sd"]) == 0.4
    assert float(second["Bi-ZOL (paper)"]) == 11.5
    assert float(second["gap"]) == 0.0121
    assert "gap sd" not in first


def test_csv_leaves_a_deviation_empty_where_a_row_has_none() -> None:
    table = Table(
        name="t",
        title="t",
        columns=(Column(name="a"), Column(name="b")),
        rows=((1, Spread(1, 2)), (2, 3.0)),
    )
    assert table.csv().splitlines() == ["a,b,b sd", "1,1,2", "2,3.0,"]


def test_latex_has_one_line_per_row_and_escapes_what_is_special() -> None:
    written = TABLE.latex()
    assert r"\caption{Final $\tilde{\varphi}$(x) \& more}" in written
    assert written.count(r" \\") == 3
    assert r"\begin{tabular}{rrrrr}" in written
    comment, *lines = written.splitlines()
    assert comment.startswith("% needs")
    assert not [line for line in lines if re.search(r"(?<!\\)%", line.removesuffix("{%"))]
    assert r"{\footnotesize A note with 5 \% in it.}" in written
    assert written.isascii()


def test_markdown_has_a_cell_per_column() -> None:
    lines = [line for line in TABLE.markdown().splitlines() if line.startswith("|")]
    assert [line.count("|") for line in lines] == [6] * 4


def test_html_is_closed_and_escaped() -> None:
    elements = Elements(TABLE.html())
    assert sorted(elements.opened) == sorted(elements.closed)
    assert elements.cells[:5] == ["B", "Bi-ZOL", "paper", "gap", "paper"]
    assert "&amp; more" in TABLE.html()


def test_rows_must_fit_their_columns() -> None:
    with pytest.raises(ValueError, match="2 cells each"):
        Table(name="t", title="t", columns=(Column(name="a"), Column(name="b")), rows=((1,),))


def test_a_figure_is_the_same_files_every_time(tmp_path: Path) -> None:
    written = []
    for name in ("one", "two"):
        with canvas() as plt:
            figure, axes = plt.subplots()
            axes.plot([0, 1], [0, 1], label=r"$\tilde{\varphi}$")
            axes.legend()
            (tmp_path / name).mkdir()
            written.append([path.read_bytes() for path in save(figure, tmp_path / name, "figure")])
            assert not plt.get_fignums()
    assert written[0] == written[1]
    assert [data[:4] for data in written[0]] == [b"%PDF", b"<?xm", b"\x89PNG"]
    assert len(FORMATS) == 3


def test_a_page_stands_alone(tmp_path: Path) -> None:
    (tmp_path / "a.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    shown = picture(tmp_path / "a.svg", name="a", alt="A < B")
    document = page(
        "Title & more", "<p>lead</p>", [Section("First part", shown), Section("Then", TABLE.html())]
    )
    elements = Elements(document)
    assert all(address.startswith(("data:", "#")) for address in elements.addresses)
    assert "#first-part" in elements.addresses
    assert 'id="first-part"' in document
    assert "script" not in elements.opened
    assert "url(" not in document
    assert "A &lt; B" in document
