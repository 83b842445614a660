"""look.html: what a model attends to, as one file that draws itself and makes no network request.

Numbers are stored as quantized text (`quantized.py`) and read when a view first needs them; the page's own modules
(`static/look/`) are bundled into it (`bundle.py`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from regard.errors import RegardError
from regard.report.look.bundle import bundle_script, csp_hash, static_resource
from regard.report.look.data import LookData
from regard.report.look.export import BlobStore, evidence_facts, page_facts, to_script_json
from regard.report.look.measures import collect_measures
from regard.report.look.size_budget import quantize_measures
from regard.report.text import escape_html

SIZE_BUDGET = 4_500_000  # characters; with the script and the facts a page stays under 5 MB
MAX_TOKENS = 1024  # more would be neither readable nor fast


@dataclass(frozen=True)
class LookPage:
    """A rendered page, and sentences about what was left out to keep it small."""

    html: str
    notes: list[str]


def render_look_page(data: LookData, *, budget: int = SIZE_BUDGET) -> LookPage:
    """The page; `budget` limits the characters of its quantized numbers."""
    if not data.kinds:
        raise RegardError("nothing to show: the data have no attention of any kind")
    longest = max(len(side.tokens) for side in data.sides.values())
    if longest > MAX_TOKENS:
        raise RegardError(
            f"the text has {longest:,} tokens and a page shows at most {MAX_TOKENS:,}; inspect a shorter part of it"
        )
    measures, notes = quantize_measures(collect_measures(data), budget)
    blobs = BlobStore()
    facts = page_facts(data, measures, notes, blobs)
    facts |= evidence_facts(data, blobs, budget - blobs.size)
    style = static_resource("look", "look.css").read_text(encoding="utf-8")
    script = bundle_script(static_resource("look"), "main")
    title = escape_html(f"{data.run or 'model'}: attention")
    values = {
        "policy": _content_security_policy(script, style),
        "title": title,
        "heading": title,
        "sentence": escape_html(" → ".join(data.sides[s].text for s in ("source", "target") if s in data.sides)),
        "style": style,
        "facts": to_script_json(facts),
        "blobs": blobs.html(),
        "script": script,
    }
    template = static_resource("look", "look.html").read_text(encoding="utf-8")
    # In one pass: an inserted text may itself contain the name of a slot, which must not be replaced.
    return LookPage(re.sub(r"\{\{(\w+)\}\}", lambda match: values[match[1]], template), notes)


def _content_security_policy(script: str, style: str) -> str:
    sources = f"script-src {csp_hash(script)}; style-src {csp_hash(style)}"
    return f"default-src 'none'; {sources}; base-uri 'none'; form-action 'none'"
