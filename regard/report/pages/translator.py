"""A translator as one HTML file: the engine, the weights and two panes, and no request to any network."""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field

from regard.report.look.bundle import bundle_script, csp_hash, static_resource
from regard.report.page import DefinitionList
from regard.report.table import Value
from regard.report.text import escape_html

BYTES_PER_MB = 1_000_000


@dataclass(frozen=True)
class TranslatorPage:
    """What the page says of the model, and the model itself in the format of the engine."""

    container: bytes
    title: str = ""
    """Unset: the languages, as the browser names them."""
    source: str = ""
    """Language code of the text, such as en; empty if it is not known."""
    target: str = ""
    lowercase: bool = False
    """Whether the model has read lowercase text alone: then no capital says where a sentence begins."""
    note: str = ""
    summary: str = ""
    """What the model is, in one line below the title."""
    facts: Mapping[str, Value] = field(default_factory=dict)


def render_translator_page(page: TranslatorPage) -> str:
    """The complete HTML document."""
    script = bundle_script(static_resource("translator"), "main")
    style = static_resource("translator", "translator.css").read_text(encoding="utf-8")
    settings = {
        "source": page.source,
        "target": page.target,
        "titled": bool(page.title),
        "lowercase": page.lowercase,
    }
    values = {
        "policy": content_security_policy(script, style),
        "title": escape_html(page.title or "Private translator"),
        "summary": escape_html(page.summary),
        "source": escape_html(page.source or "Text"),
        "target": escape_html(page.target or "Translation"),
        "note": f'<p dir="auto">{escape_html(page.note)}</p>' if page.note else "",
        "facts": DefinitionList(page.facts).html(),
        "style": style,
        "json": _script_json(settings),
        "engine": bundle_script(static_resource("engine"), "worker"),
        "weights": encode_container(page.container),
        "script": script,
    }
    template = static_resource("translator", "page.html").read_text(encoding="utf-8")
    # In one pass: an inserted text may itself contain the name of a slot, which must not be replaced.
    return re.sub(r"\{\{(\w+)\}\}", lambda match: values[match[1]], template)


def content_security_policy(script: str, style: str) -> str:
    """Nothing is loaded from anywhere; the one script may start a worker from a text, and compile WebAssembly."""
    return (
        f"default-src 'none'; script-src {csp_hash(script)} 'wasm-unsafe-eval'; worker-src blob:; "
        f"style-src {csp_hash(style)}; connect-src 'none'; img-src data:; base-uri 'none'; form-action 'none'"
    )


def encode_container(container: bytes) -> str:
    """A container as the page stores it: deflated, without a header, in base64."""
    deflate = zlib.compressobj(level=9, wbits=-zlib.MAX_WBITS)
    return base64.b64encode(deflate.compress(container) + deflate.flush()).decode("ascii")


def _script_json(value: object) -> str:
    """JSON that does not end a script element."""
    return json.dumps(value, ensure_ascii=True).replace("<", "\\u003c")
