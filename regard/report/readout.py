"""What a chart can read out: the place and the words of every value that it draws, for a pointer, a finger or a key.

The renderer is given an invisible mark for each value, which says in words what it is. The marks are taken out of the
drawing again: what is left is the drawing as it would be without them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

from regard.report.table import Value
from regard.report.text import MISSING, format_column

READ_MARKS = ("point", "rect", "bar", "line")
"""Marks that stand for values; rules, texts and areas repeat others."""
NAME = "readout"
TEXT_FIELD, OWN_TEXT_FIELD = "readout text", "readout"
"""Where the words of a row are; those that a chart writes itself, where its encodings do not tell."""
SEPARATOR = "\ue000"
"""Between what a value belongs to, which others may share, and the value: a character that no text has."""
MIDDLE = "readout middle"
"""The middle of a bar that has two ends."""
TRANSLATION = re.compile(r"translate\(\s*(-?[\d.e+-]+)(?:[ ,]+(-?[\d.e+-]+))?\s*\)")
CLIP = re.compile(r"url\(#([^)]+)\)")
LABEL_LIST = re.compile(r"(\[.*\])\[datum\.value\]", re.DOTALL)
PLACES = ("x", "y", "xOffset", "yOffset", "facet", "row", "column")


@dataclass(frozen=True)
class ReadoutPoint:
    """A value at its place in the drawing."""

    x: float
    y: float
    heading: str
    """What other values may share: the position on the horizontal axis."""
    text: str
    """The value itself, with the name of its series."""


def add_readouts(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The specification with an invisible mark for each value, in every view of it."""
    datasets = {name: [dict(row) for row in rows] for name, rows in spec.get("datasets", {}).items()}
    return {**_extend(dict(spec), "", {}, datasets), "datasets": datasets}


def take_readouts(root: ElementTree.Element) -> list[ReadoutPoint]:
    """Take the marks out of a drawing; what they say, from left to right."""
    points = sorted(_take(root, 0.0, 0.0), key=lambda point: (point.x, point.y))
    _drop_unused_clips(root)
    return list(dict.fromkeys(points))


def format_readouts(points: Sequence[ReadoutPoint]) -> str:
    """A line for each value, its parts divided by tabs: shorter in an attribute than JSON with its quotes."""
    return "\n".join(
        "\t".join((f"{p.x:.0f}", f"{p.y:.0f}", *(" ".join(text.split()) for text in (p.heading, p.text))))
        for p in points
    )


def _extend(
    view: dict[str, Any], data: str, facets: Mapping[str, Any], datasets: dict[str, list[dict[str, Value]]]
) -> dict[str, Any]:
    """A view with what it consists of, each with a mark for its values; `data` and `facets` are those around it."""
    data = view.get("data", {}).get("name", data)
    for name in ("hconcat", "vconcat", "concat"):
        if name in view:
            view = {**view, name: [_extend(dict(part), data, facets, datasets) for part in view[name]]}
    if "spec" in view:
        facet = view["facet"]
        facets = {**facets, **({"facet": facet} if "field" in facet else facet)}
        return {**view, "spec": _extend(dict(view["spec"]), data, facets, datasets)}
    if "layer" in view:
        return {**view, "layer": [*view["layer"], *_marks(view["layer"], data, facets, datasets)]}
    return view


def _marks(
    layers: Sequence[Mapping[str, Any]],
    data: str,
    facets: Mapping[str, Any],
    datasets: dict[str, list[dict[str, Value]]],
) -> Iterator[dict[str, Any]]:
    """An invisible mark for each dataset of the layers; of several marks for the same values, for the first."""
    chosen: dict[str, Mapping[str, Any]] = {}
    for layer in layers:
        name, encoding = layer.get("data", {}).get("name", data), layer.get("encoding", {})
        if layer.get("mark", {}).get("type") in READ_MARKS and name in datasets and {"x", "y"} <= encoding.keys():
            is_shade = encoding.get("color", {}).get("type") == "quantitative"  # of cells that have a value
            chosen = chosen | {name: layer} if is_shade else {name: layer} | chosen
    for name, layer in chosen.items():
        encoding, rows = layer["encoding"], datasets[name]
        places = {channel: encoding[channel] for channel in PLACES if channel in encoding}
        for row in rows:
            row[TEXT_FIELD] = _describe(row, encoding, facets)
        if "x2" in encoding and layer["mark"]["type"] == "bar":
            for row in rows:
                row[MIDDLE] = _middle(*(row.get(encoding[channel]["field"]) for channel in ("x", "x2")))
            places["x"] = {k: v for k, v in encoding["x"].items() if k != "bin"} | {"field": MIDDLE}
        yield {
            **({"data": layer["data"]} if "data" in layer else {}),
            "name": f"{NAME}-{name}",
            "transform": [{"filter": f"datum['{TEXT_FIELD}'] != null"}],
            # Clipped, so that a value beyond its axis does not make the drawing larger.
            "mark": {"type": "point", "opacity": 0, "aria": True, "size": 1, "clip": True},
            "encoding": {**places, "description": {"field": TEXT_FIELD, "type": "nominal"}},
        }


def _middle(low: Value, high: Value) -> float | None:
    return (low + high) / 2 if isinstance(low, int | float) and isinstance(high, int | float) else None


def _describe(row: Mapping[str, Value], encoding: Mapping[str, Any], facets: Mapping[str, Any]) -> str | None:
    """A row in words: what it belongs to and, after a separator, its value; None where it draws nothing."""
    if OWN_TEXT_FIELD in row:
        own = row[OWN_TEXT_FIELD]
        return None if own is None else str(own)
    if any(row.get(encoding[axis].get("field", "")) is None for axis in ("x", "y")):
        return None
    names = [_name_value(row, facet, named=False) for facet in facets.values()]
    color = encoding.get("color", {})
    if color.get("type") == "quantitative":  # a cell: its value is its color
        value = _name_value(row, color, title=(color.get("legend") or {}).get("title") or "")
        return join_readout([*names, *(_name_value(row, encoding[axis]) for axis in ("y", "x"))], value)
    lies = encoding["x"].get("type") == "quantitative" and encoding["y"].get("type") == "ordinal"
    across, up = (encoding[axis] for axis in (("y", "x") if lies else ("x", "y")))
    where = _name_value(row, across)
    if "x2" in encoding and not lies:
        where += f" to {_format(row.get(encoding['x2']['field']))}"
    series = str(row.get("series") or row.get("name") or "")
    return join_readout([*names, up.get("title") or "", where], f"{series} {_name_value(row, up, named=False)}".strip())


def join_readout(headings: Sequence[str], text: str) -> str:
    """What is read out of a value: what it belongs to, and the value."""
    return SEPARATOR.join((" · ".join(filter(None, headings)), text))


def _name_value(row: Mapping[str, Value], channel: Mapping[str, Any], title: str = "", named: bool = True) -> str:
    """A value with the title of its axis: `step 1,200`."""
    field = str(channel.get("field", ""))
    value = row.get(field)
    labels = LABEL_LIST.fullmatch(str((channel.get("axis") or channel.get("header") or {}).get("labelExpr", "")))
    text = _format(value)
    if labels and isinstance(value, int | float):
        names = json.loads(labels[1])
        text = str(names[round(value)]) if 0 <= round(value) < len(names) else text
    title = title or str(channel.get("title") or "") if named else ""
    return f"{title} {text}".strip()


def _format(value: Value) -> str:
    if value is None:
        return MISSING
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return f"{value:,.0f}"
    return format_column([value])[0]


def _take(element: ElementTree.Element, x: float, y: float) -> Iterator[ReadoutPoint]:
    """Remove the groups of marks below an element; `x` and `y` are where it is."""
    for child in list(element):
        dx, dy = _offset(child)
        if NAME in child.get("class", "") and "role-mark" in child.get("class", ""):
            for mark in child:
                mx, my = _offset(mark)
                heading, _, text = mark.get("aria-label", "").partition(SEPARATOR)
                yield ReadoutPoint(x + dx + mx, y + dy + my, heading, text)
            element.remove(child)
        else:
            yield from _take(child, x + dx, y + dy)


def _drop_unused_clips(root: ElementTree.Element) -> None:
    """Remove the clipping paths of the marks that were taken out."""
    used = {match[1] for element in root.iter() if (match := CLIP.search(element.get("clip-path", "")))}
    for group in root.iter("defs"):
        for path in group.findall("clipPath"):
            if path.get("id") not in used:
                group.remove(path)
    for parent in list(root.iter()):
        for group in parent.findall("defs"):
            if not len(group):
                parent.remove(group)


def _offset(element: ElementTree.Element) -> tuple[float, float]:
    match = TRANSLATION.search(element.get("transform", ""))
    return (float(match[1]), float(match[2] or 0)) if match else (0.0, 0.0)
