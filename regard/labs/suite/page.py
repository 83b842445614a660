"""The laboratory as one HTML file: themes in reading order, a question before each picture, no network."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from regard.errors import LabError
from regard.labs.catalog import Theme, all_labs
from regard.labs.suite.measurement import LabOutcome, MeasuredPart, Measurement, compact_svg
from regard.labs.suite.predictions import draw_predictions
from regard.labs.suite.suite import SuiteResult
from regard.labs.verdict import Verdict
from regard.report.look.bundle import bundle_script, csp_hash, static_resource
from regard.report.page import read_stylesheet
from regard.report.text import escape_html

MAX_BYTES = 8_000_000
FAILED_SIGN, FAILED_WORD = "!", "failed"
POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src {hash}; img-src data:; base-uri 'none'; "
    "form-action 'none'"
)


@dataclass(frozen=True)
class LabPage:
    """What the page says beside the labs themselves."""

    title: str = "Claims about Transformers, measured"
    predictions: Mapping[str, Sequence[float]] = field(default_factory=dict)
    """Of a class, by the name of the lab."""
    facts: Sequence[str] = ()
    """Versions, seeds, processor and date, for the footer."""


def render_labs_page(suite: SuiteResult, page: LabPage) -> str:
    """The page, or an error if it would be too large to hand around."""
    script = bundle_script(static_resource("labs"), "main")
    themes = [theme for theme in suite.themes if suite.of_theme(theme)]
    anchors = _anchors(suite)
    menu = "".join(f'<li><a href="#theme-{escape_html(one.name)}">{escape_html(one.title)}</a></li>' for one in themes)
    body = "\n".join(_theme_section(theme, suite.of_theme(theme), anchors, page) for theme in themes)
    title = escape_html(page.title)
    html = f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY.format(hash=csp_hash(script))}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>
{read_stylesheet()}{static_resource("labs", "labs.css").read_text(encoding="utf-8")}</style>
</head>
<body>
<header>
<h1>{title}</h1>
<p class="subtitle">{escape_html(_subtitle(suite))}</p>
<nav aria-label="Themes"><ol>{menu}</ol></nav>
<p class="mode" hidden><label><input type="checkbox" id="predict-first"> Predict first: hide each result until I have
answered its question.</label></p>
</header>
<main>
{_verdict_section(suite, anchors)}
{body}
</main>
<footer>
<h2>How this was measured</h2>
<ul>{"".join(f"<li>{escape_html(fact)}</li>" for fact in page.facts)}</ul>
</footer>
<script>{script}</script>
</body>
</html>
"""
    if (size := len(html.encode())) > MAX_BYTES:
        raise LabError(
            f"the page would have {size / 1e6:.1f} MB, more than {MAX_BYTES / 1e6:.0f}: choose fewer themes (--only), "
            f"or leave the values of knobs out (--no-turns)"
        )
    return html


def _subtitle(suite: SuiteResult) -> str:
    counts = {
        verdict: sum(one.measurement is not None and one.measurement.verdict is verdict for one in suite.outcomes)
        for verdict in Verdict
    }
    failed = sum(one.measurement is None for one in suite.outcomes)
    parts = [f"{count} {verdict}" for verdict, count in reversed(counts.items()) if count]
    parts += [f"{failed} failed"] if failed else []
    count = len(suite.outcomes)
    return f"{count} lab{'s' * (count != 1)}, each with a claim and its measurement: {', '.join(parts)}."


def _anchors(suite: SuiteResult) -> dict[Path, str]:
    """Where on the page each lab is: the name of a lab of ours, and with its folder one of others."""
    ours = {lab.path for lab in all_labs()}
    paths = [outcome.header for outcome in suite.outcomes]
    return {lab.path: lab.name if lab.path in ours else f"{lab.theme}.{lab.name}" for lab in paths}


def _verdict_section(suite: SuiteResult, anchors: Mapping[Path, str]) -> str:
    rows = "\n".join(
        f'<tr><td>{_badge(one)}</td><td><a href="#{escape_html(anchors[one.header.path])}">'
        f"{escape_html(one.header.title)}</a></td><td>{escape_html(_number(one))}</td></tr>"
        for one in suite.sorted_outcomes()
    )
    return f"""<section id="verdicts" aria-labelledby="verdicts-title">
<h2 id="verdicts-title">Verdicts</h2>
<p>What goes against its claim stands first. A verdict is computed: the 95% interval over seeds is compared with what
the claim says, which was written down before.</p>
<div class="scroll answer" tabindex="0" role="group" aria-label="verdicts of all labs"><table class="verdicts">
<thead><tr><th scope="col">verdict</th><th scope="col">lab</th><th scope="col">measured</th></tr></thead>
<tbody>{rows}</tbody></table></div>
</section>"""


def _number(outcome: LabOutcome) -> str:
    """What the verdict rests on, without the verdict itself."""
    if outcome.measurement is None:
        return outcome.error
    return outcome.measurement.headline.partition(": ")[2]


def _theme_section(theme: Theme, outcomes: Sequence[LabOutcome], anchors: Mapping[Path, str], page: LabPage) -> str:
    labs = "\n".join(
        _lab_article(outcome, anchors[outcome.header.path], page.predictions.get(outcome.header.name, ()))
        for outcome in outcomes
    )
    name = escape_html(theme.name)
    paragraph = f"<p>{escape_html(theme.paragraph)}</p>" if theme.paragraph else ""
    return f"""<section id="theme-{name}" class="theme" aria-labelledby="theme-{name}-title">
<h2 id="theme-{name}-title">{escape_html(theme.title)}</h2>
{paragraph}
{labs}
</section>"""


def _lab_article(outcome: LabOutcome, anchor: str, predictions: Sequence[float]) -> str:
    lab, anchor = outcome.header, escape_html(anchor)
    measurement = outcome.measurement
    result = f'<p class="error">{_badge(outcome)} {escape_html(outcome.error)}</p>'
    if measurement is not None:
        result = "\n".join(
            [*_class_part(predictions, measurement.predicted), _result_part(outcome, measurement, anchor)]
        )
    name = lab.name if anchor == lab.name else escape_html(str(lab.path))
    code = escape_html(lab.path.read_text(encoding="utf-8").strip())
    return f"""<article class="lab" id="{anchor}" aria-labelledby="{anchor}-title">
<h3 id="{anchor}-title"><a href="#{anchor}">{escape_html(lab.title)}</a></h3>
<p class="claim">“{_emphasize(lab.claim)}” <cite>{escape_html(lab.source)}</cite></p>
{_question(lab.predict, anchor, measurement)}
<div class="answer">
{result}
</div>
<p class="change"><strong>Change next.</strong> {_emphasize(lab.change)}</p>
<details class="code"><summary>The code</summary>
<div class="scroll" tabindex="0" role="group" aria-label="code of {anchor}"><pre><code>{code}</code></pre></div>
</details>
<p class="command"><code>regard lab {name}</code></p>
</article>"""


def _question(question: str, anchor: str, measurement: Measurement | None) -> str:
    """The question; the field for an answer works with JavaScript, and is hidden without it."""
    measured = escape_html(measurement.predicted.measured) if measurement is not None else ""
    return f"""<div class="predict" data-measured="{measured}">
<p><strong>Predict.</strong> <label for="{anchor}-prediction">{_emphasize(question)}</label></p>
<p class="field" hidden><input id="{anchor}-prediction" type="text" inputmode="decimal" autocomplete="off" size="8">
<button type="button">Compare</button> <output for="{anchor}-prediction"></output></p>
</div>"""


def _class_part(predictions: Sequence[float], measured: MeasuredPart) -> Iterator[str]:
    if predictions:
        yield _figure(
            compact_svg(draw_predictions(list(predictions), measured).to_svg()),
            "what the class predicted",
            "predictions",
        )


def _result_part(outcome: LabOutcome, measurement: Measurement, anchor: str) -> str:
    """The measurement, or one for each value of the knob, of which one is shown."""
    if not outcome.turned or len(outcome.turned) < 2:
        return _measurement_part(measurement)
    values = list(outcome.turned)
    start = values.index(outcome.default)
    knob, names, default = map(escape_html, (outcome.knob, "|".join(values), outcome.default))
    slider = f"""<p class="turn" hidden><label for="{anchor}-knob"><code>{knob}</code></label>
<input id="{anchor}-knob" type="range" min="0" max="{len(values) - 1}" step="1" value="{start}" data-names="{names}"
aria-valuetext="{default}"> <output for="{anchor}-knob">{default}</output></p>"""
    shown = "\n".join(
        f'<div class="variant" data-value="{n}"{"" if n == start else " hidden"}>{_measurement_part(one)}</div>'
        for n, one in enumerate(outcome.turned.values())
    )
    return f'<div class="turned">{slider}\n{shown}</div>'


def _measurement_part(measurement: Measurement) -> str:
    verdict = f'<p class="result">{_verdict_badge(measurement.verdict)}</p>'
    rows = "\n".join(
        f"<tr><td>{_verdict_badge(part.verdict)}</td><td>{escape_html(part.name)}</td>"
        f'<td class="short">{escape_html(part.measured)}</td><td class="short">{escape_html(part.claimed)}</td></tr>'
        for part in measurement.parts
    )
    head = "".join(f'<th scope="col">{name}</th>' for name in ("verdict", "what", "measured", "claimed"))
    needs = "".join(f'<p class="need">Needed: {escape_html(need)}.</p>' for need in measurement.needs)
    return f"""{verdict}
{_figure(measurement.svg, measurement.headline)}
<div class="scroll" tabindex="0" role="group" aria-label="numbers"><table>
<thead><tr>{head}</tr></thead>
<tbody>{rows}</tbody></table></div>
{needs}<p class="conditions">Here: {escape_html(measurement.conditions)}.</p>"""


def _emphasize(text: str) -> str:
    """Text of a lab's header, in which *words* and `code` are marked."""
    marked = re.sub(r"`([^`]+)`", r"<code>\1</code>", escape_html(text))
    return re.sub(r"(?<!\w)\*(\w[^*]*)\*(?!\w)", r"<em>\1</em>", marked)


def _figure(svg: str, label: str, kind: str = "picture") -> str:
    frame = f'<div class="plot" tabindex="0" role="group" aria-label="{escape_html(label)}">'
    return f'<figure class="{kind}">{frame}{svg}</div></figure>'


def _badge(outcome: LabOutcome) -> str:
    if outcome.measurement is None:
        return f'<span class="badge failed"><span aria-hidden="true">{FAILED_SIGN}</span> {FAILED_WORD}</span>'
    return _verdict_badge(outcome.measurement.verdict)


def _verdict_badge(verdict: Verdict) -> str:
    """A verdict as a word and a sign, in a color that says no more than these."""
    kind = str(verdict).replace(" ", "-")
    return f'<span class="badge {kind}"><span aria-hidden="true">{verdict.sign}</span> {verdict}</span>'
