"""A real Chromium, without a screen, that looks at a page and tells what it saw."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from html import escape, unescape
from pathlib import Path
from typing import Any, final

import pytest

_FLAGS = """--headless --no-sandbox --disable-gpu --disable-quic --no-first-run
--disable-background-networking --disable-component-update --disable-sync --hide-scrollbars
--virtual-time-budget=10000 --dump-dom""".split()

_LOOK = """<script>
window.addEventListener("load", async () => {
  await Promise.all([...document.images].map((image) => image.decode()));
  const ids = (selector) => [...document.querySelectorAll(selector)].map((element) => element.id);
  const scrolls = (element) =>
    element.closest(".wide") !== null && !element.classList.contains("wide");
  const right = (element) => element.getBoundingClientRect().right;
  const loaded = performance.getEntriesByType("resource");
  const visible = [...document.body.querySelectorAll("*")].filter((element) => !scrolls(element));
  const seen = {
    width: window.innerWidth,
    tables: ids("table"),
    figures: ids("figure"),
    imageWidths: [...document.images].map((image) => image.naturalWidth),
    overflow: document.documentElement.scrollWidth - window.innerWidth,
    sticking: visible
      .filter((element) => right(element) > window.innerWidth + 1)
      .map((element) => element.tagName),
    scrolling: [...document.querySelectorAll(".wide")]
      .filter((box) => box.scrollWidth > box.clientWidth).length,
    claims: document.querySelectorAll(".claims li").length,
    requests: loaded.filter((entry) => !entry.name.startsWith("data:")).length,
  };
  parent.document.getElementById("seen").textContent = JSON.stringify(seen);
});
</script>"""


@final
@dataclass(frozen=True)
class Browser:
    """Chromium, by its path."""

    path: str

    @classmethod
    def found(cls) -> Browser:
        """Return the browser of this machine; without one, skip the test.

        Where BIZOL_NEEDS_BROWSER is set, fail it instead.
        """
        names = ("chromium", "chromium-browser", "google-chrome")
        path = next(filter(None, map(shutil.which, names)), None)
        if path is None and os.environ.get("BIZOL_NEEDS_BROWSER"):
            pytest.fail("no Chromium on this machine, and BIZOL_NEEDS_BROWSER is set")
        if path is None:
            pytest.skip("no Chromium on this machine")
        return cls(path)

    def look(self, page: Path, width: int) -> dict[str, Any]:
        """Open a page in a frame of that width and tell what is on it.

        A frame, because windows have a least width.
        """
        document = escape(page.read_text(encoding="utf-8") + _LOOK)
        style = f"border:0;width:{width}px;height:900px"
        frame = f'<iframe style="{style}" srcdoc="{document}"></iframe><pre id="seen"></pre>'
        with tempfile.TemporaryDirectory() as folder:
            around = Path(folder) / "around.html"
            around.write_text(f'<!doctype html><meta charset="utf-8">{frame}', encoding="utf-8")
            flags = [*_FLAGS, f"--user-data-dir={folder}/profile", "--window-size=1400,1000"]
            shown = subprocess.run(
                [self.path, *flags, around.as_uri()],
                capture_output=True,
                text=True,
                check=True,
                timeout=120,
            ).stdout
        found = re.search(r'<pre id="seen">(.*?)</pre>', shown, re.DOTALL)
        assert found is not None, shown[-2000:]
        seen: dict[str, Any] = json.loads(unescape(found[1]))
        return seen
