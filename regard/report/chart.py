"""A chart as a Vega-Lite specification, drawn to SVG and PNG without a browser and without a network."""

from __future__ import annotations

import json
import re
import textwrap
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from regard.atomic import atomic_write, write_text
from regard.errors import RegardError
from regard.report.readout import ReadoutPoint, add_readouts, take_readouts
from regard.report.table import Value
from regard.report.text import replace_forbidden, slugify
from regard.report.theme import CONFIG

if TYPE_CHECKING:
    import altair as alt

FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
SVG_NAMESPACE = "http://www.w3.org/2000/svg"
ID_REFERENCE = re.compile(r"(?<=url\()#[^)]+|^#.+$")
TITLE_WIDTH = 84  # characters in a line of the title


@dataclass(frozen=True, repr=False)
class Chart:
    """A Vega-Lite chart and the name of its files."""

    name: str
    title: str
    spec: dict[str, Any]

    def __post_init__(self) -> None:
        if not FILE_NAME.fullmatch(self.name):
            raise RegardError(f"chart name {self.name!r} cannot name a file: use letters, digits, '-', '_' and '.'")

    def with_name(self, name: str) -> Chart:
        return replace(self, name=name)

    def with_note(self, note: str) -> Chart:
        """The chart with a sentence below its title, after the one that it has."""
        if not note:
            return self
        title = self.spec["title"]
        notes = "; ".join([*filter(None, [" ".join(title.get("subtitle", ()))]), note])
        return replace(self, spec={**self.spec, "title": {**title, "subtitle": _wrap_note(notes)}})

    def to_svg(self) -> str:
        """The chart as an SVG element that can share a page with others."""
        return self._drawing[0]

    def read_out(self) -> list[ReadoutPoint]:
        """Every value that is drawn, at its place in the SVG element, in words."""
        return self._drawing[1]

    @cached_property
    def _drawing(self) -> tuple[str, list[ReadoutPoint]]:
        """Drawn once for its file, its PNG and its page: drawing takes most of the time of a report."""
        # Imported late, here and wherever charts are built: a page of tables or a terminal view needs no renderer.
        import vl_convert

        try:
            svg_text = vl_convert.vegalite_to_svg(_clean_spec(add_readouts(self.spec)), allowed_base_urls=[])
        except ValueError as error:
            raise RegardError(f"chart {self.name!r} could not be drawn: {error}") from error
        root = ElementTree.fromstring(svg_text)
        for element in root.iter():  # otherwise the writer would add a prefix, which HTML does not understand
            element.tag = element.tag.removeprefix(f"{{{SVG_NAMESPACE}}}")
        points = take_readouts(root)
        root.set("xmlns", SVG_NAMESPACE)
        _rename_ids(root, self._id_prefix())
        root.set("role", "img")
        root.set("aria-label", replace_forbidden(self.title))
        return ElementTree.tostring(root, encoding="unicode"), points

    def to_png(self, scale: float = 2) -> bytes:
        import vl_convert

        # The renderer's font has no U+2581, and a missing character sets its whole word in another typeface.
        svg_text = self.to_svg().replace("▁", "_")
        return bytes(vl_convert.svg_to_png(svg_text, scale=scale))

    def save(self, folder: Path) -> tuple[Path, Path]:
        """Write `<name>.png` and `<name>.svg` into the folder; returns their paths."""
        png, svg = folder / f"{self.name}.png", folder / f"{self.name}.svg"
        with atomic_write(png) as temporary:
            temporary.write_bytes(self.to_png())
        write_text(svg, self.to_svg())
        return png, svg

    def __repr__(self) -> str:
        return f"<Chart {self.name!r}: {self.title}>"

    def _repr_html_(self) -> str:
        return self.to_svg()

    def _id_prefix(self) -> str:
        """Unique for every chart, even if two have the same name, and the same whenever this one is drawn."""
        return f"{self.name}-{zlib.crc32(json.dumps(self.spec).encode()):08x}"


def compose_chart(
    title: str,
    layers: alt.LayerChart | alt.FacetChart | alt.ConcatChart | alt.HConcatChart | alt.VConcatChart,
    datasets: Mapping[str, Sequence[Mapping[str, Value]]],
    note: str = "",
) -> Chart:
    """A chart with the common theme.

    The layers only name their data. The values are added last, after the schema validation, which is slow on thousands.
    """
    spec = layers.to_dict()
    spec["config"] = CONFIG
    spec["title"] = {"text": textwrap.wrap(title, TITLE_WIDTH) or ""}
    if note:
        spec["title"]["subtitle"] = _wrap_note(note)
    spec["datasets"] = {name: [dict(row) for row in rows] for name, rows in datasets.items()}
    return Chart(slugify(title), title, spec)


def _wrap_note(note: str) -> list[str]:
    return textwrap.wrap(note, TITLE_WIDTH + 10)


def label_expression(labels: Sequence[str]) -> str:
    """A Vega expression that maps a position on an axis to its label.

    Axes use positions, so that two equal words stay separate.
    """
    return json.dumps([replace_forbidden(label) for label in labels]) + "[datum.value]"


def _clean_spec(part: Any) -> Any:
    """The spec without control characters in its strings: they make the renderer abort the whole process."""
    if isinstance(part, str):
        return replace_forbidden(part)
    if isinstance(part, dict):
        return {name: _clean_spec(value) for name, value in part.items()}
    return [_clean_spec(value) for value in part] if isinstance(part, list) else part


def _rename_ids(root: ElementTree.Element, prefix: str) -> None:
    """Rename every id to `<prefix>-<n>`, in order of appearance.

    The renderer numbers ids across all charts of a process: two charts on one page would share them, and one chart
    drawn twice would differ.
    """
    old_ids = [element.attrib["id"] for element in root.iter() if "id" in element.attrib]
    new_ids = {name: f"{prefix}-{n}" for n, name in enumerate(old_ids)}
    for element in root.iter():
        for key, value in element.attrib.items():
            if key == "id":
                element.set(key, new_ids[value])
            elif "#" in value:
                element.set(key, ID_REFERENCE.sub(lambda match: "#" + new_ids.get(match[0][1:], match[0][1:]), value))
