"""How soon the largest look page can be used, and how smoothly it follows the pointer.

    python benchmarks/page.py

Six layers of eight heads over 128 tokens, all three kinds, every measure: opened from a file in headless Chromium.
"""

import os
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

from environment import described, write
from playwright.sync_api import Page, sync_playwright

sys.path.insert(0, str(Path(__file__).parent.parent))
from regard.report.look.page import render_look_page
from regard.report.page import write_page
from tests.report.look.look_sample import look_data

TIMES = 5
DRAWN = "#map:has(button):not(:has(button:not([data-drawn])))"
# One movement of the pointer, until the frame that shows it.
MOVES = """() => (async () => {
  const picture = document.getElementById("picture");
  const frame = picture.getBoundingClientRect();
  const times = [];
  for (let i = 0; i < 60; i++) {
    const [clientX, clientY] = [frame.left + 120 + 5 * i, frame.top + 140 + 4 * i];
    const start = performance.now();
    picture.dispatchEvent(new PointerEvent("pointermove", { clientX, clientY, bubbles: true }));
    await new Promise((done) => requestAnimationFrame(done));
    times.push(performance.now() - start);
  }
  return times;
})()"""


def marks(page: Page) -> dict[str, float]:
    """When the picture and the whole map were there, in milliseconds since the page was asked for."""
    return page.evaluate(
        "() => Object.fromEntries(['picture', 'map'].map((n) => [n, performance.getEntriesByName(n)[0].startTime]))"
    )


def measure(path: Path) -> list[str]:
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    found: dict[str, list[float]] = {"picture": [], "map": [], "heat": [], "both": []}
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for _ in range(TIMES):
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            page.goto(f"{path.as_uri()}#kind=encoder&view=heat")
            page.wait_for_selector(DRAWN)
            for name, value in marks(page).items():
                found[name].append(value)
            found["heat"] += page.evaluate(MOVES)
            page.keyboard.press("b")
            found["both"] += page.evaluate(MOVES)
            page.close()
        browser.close()
    return [
        f"| the chosen head can be read | {statistics.median(found['picture']):.0f} ms |",
        f"| all 48 small pictures are drawn | {statistics.median(found['map']):.0f} ms |",
        f"| heat map follows the pointer, median | {statistics.median(found['heat']):.0f} ms |",
        f"| lines and heat map follow the pointer, median | {statistics.median(found['both']):.0f} ms |",
    ]


def main() -> None:
    tokens = [f"▁w{i}" for i in range(127)] + ["</s>"]
    data = look_data(6, 8, tokens, tokens)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "look.html"
        start = time.perf_counter()
        write_page(path, render_look_page(data).html)
        made = time.perf_counter() - start
        rows = [
            "| 6 layers × 8 heads × 128 tokens × 3 kinds | |",
            "|---|---|",
            f"| size of the page | {path.stat().st_size / 1e6:.2f} MB |",
            f"| written in | {made:.1f} s |",
            *measure(path),
        ]
    load = f"- load of the machine meanwhile: {os.getloadavg()[0]:.1f}"
    lines = [*described(), f"- medians of {TIMES} openings from a file, headless Chromium, 1440 × 900", load, "", *rows]
    write("page", lines)
    print("\n".join(lines))


if __name__ == "__main__":
    main()
