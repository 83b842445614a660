"""The page of a training as it goes on: it asks its own server for the state, and nothing else for anything."""

from __future__ import annotations

from regard.report.look.bundle import bundle_script, csp_hash, static_resource
from regard.report.page import read_stylesheet
from regard.report.text import escape_html

_SCRIPT = bundle_script(static_resource("live"), "main")
LIVE_POLICY = (
    f"default-src 'none'; style-src 'unsafe-inline'; script-src {csp_hash(_SCRIPT)}; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'"
)
LIVE_POLICY_HEADER = f"{LIVE_POLICY}; frame-ancestors 'none'"
"""What a meta element cannot say: that no other page may frame this one."""


def render_live_page(name: str) -> str:
    """The page of the run of this name, still empty: its script fills it, and refreshes it every other second."""
    title, style = escape_html(name), static_resource("live", "live.css").read_text(encoding="utf-8")
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{LIVE_POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>
{read_stylesheet()}{style}</style>
</head>
<body>
<header>
<h1>{title}</h1>
<p class="subtitle" id="subtitle" dir="auto"></p>
<p class="headline open" id="status" role="status">Waiting for the run …</p>
<progress id="progress" max="1" value="0" aria-label="progress of training"></progress>
</header>
<main>
<section aria-labelledby="curves-title" id="curves-section" hidden>
<h2 id="curves-title">Curves</h2>
<div id="curves"></div>
</section>
<section aria-labelledby="samples-title" id="samples-section" hidden>
<h2 id="samples-title">Examples</h2>
<p id="samples-note"></p>
<ol class="cards" id="samples"></ol>
</section>
<section aria-labelledby="attention-title" id="attention-section" hidden>
<h2 id="attention-title">Attention</h2>
<p>The mean of all layers and heads for one dev example: each row is a token that attends, each column one that it
attends to.</p>
<p class="frames"><label>Step <input type="range" id="frame" min="0" max="0" value="0" step="1"></label>
<output for="frame" id="frame-step"></output></p>
<div class="scroll" tabindex="0" role="group" aria-label="attention"><table class="heat" id="attention"></table></div>
</section>
<noscript><p>This page needs JavaScript: the state of the training is read every other second.</p></noscript>
</main>
<script>{_SCRIPT}</script>
</body>
</html>
"""
