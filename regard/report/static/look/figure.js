// The figure in the center: its layout, its drawing with either painter, and hit testing.

import { axesOf, entryOf, unknownOf } from "./axes.js";
import { headColor, headDash, themeColors } from "./color.js";
import { measureOf, headKey } from "./data.js";
import { columnLabelHeight, drawHeatmap, drawLegend, heatmapHit } from "./heat.js";
import { BAR, NUMBER, drawCurves, drawQueryValues, drawKeyValues } from "./lines.js";
import { truncate, widthOf } from "./painter.js";
import { selectedHeads, focus, mainHead, pins, state } from "./state.js";
import { figureName } from "./format.js";

const HEADER = 40; // the line with the names of the heads and, where it fits, the legend
const LEGEND = 208;
const HATCH_LEGEND = 96;
const GAP = 10;
const MAX_LABEL_WIDTH = 150;

/** {width, height, draw(painter), hit(x, y), origin: the first cell} of the current state for a width. */
export function figureFor(width) {
  const axes = axesOf(state);
  const scene = { axes, heads: selectedHeads(), marks: marksOn(axes), ...sizes(axes, width) };
  const layout = { lines: linesFigure, heat: heatFigure, both: bothFigure }[state.view];
  return layout(scene, Math.max(280, width));
}

/** Focus and pins as entries of the axes. */
function marksOn(axes) {
  const toEntries = ({ q, k, letter }) => ({ row: entryOf(axes.rows, q), column: entryOf(axes.columns, k), letter });
  return [focus(), ...pins()].map(toEntries).filter(({ row, column }) => row >= 0 || column >= 0);
}

function sizes(axes, width) {
  const count = Math.max(axes.rows.entries.length, axes.columns.entries.length);
  const pitch = count <= 12 ? 32 : count <= 20 ? 28 : count <= 28 ? 24 : count <= 48 ? 18 : 14;
  const size = pitch >= 28 ? 14 : pitch >= 24 ? 13 : pitch >= 18 ? 12 : 11;
  const label = Math.max(80, Math.min(MAX_LABEL_WIDTH, 0.17 * width)); // longer labels are truncated
  const widest = ({ entries }) => {
    return Math.ceil(Math.min(label, Math.max(...entries.map((entry) => widthOf(entry.label, size, 700)))));
  };
  return { pitch, size, label, rowWidth: widest(axes.rows) + 8, columnWidth: widest(axes.columns) + 8 };
}

function linesFigure(scene, width) {
  const { axes, pitch, size, rowWidth, columnWidth } = scene;
  const barWidth = BAR + NUMBER * Math.min(2, scene.heads.length);
  const left = NUMBER + rowWidth;
  const gap = Math.max(110, Math.min(380, width - left - columnWidth - barWidth - 2 * GAP));
  const end = left + gap + GAP + columnWidth;
  const box = { y: headerOf(scene, end + barWidth) + 26, pitch, size, label: scene.label, left: left + GAP, right: left + gap };
  return {
    width: end + barWidth,
    height: box.y + pitch * longest(axes) + 16,
    draw(painter) {
      drawHeader(painter, scene, end + barWidth);
      drawTitles(painter, box, left, box.right + GAP, end + barWidth - 8);
      drawLabels(painter, axes.rows, left, box, scene.marks, "row");
      drawLabels(painter, axes.columns, box.right + GAP, box, scene.marks, "column");
      drawCurves(painter, box, scene.heads, scene.marks);
      drawKeyValues(painter, end, box, scene.heads, scene.marks);
      drawQueryValues(painter, NUMBER - 6, box, mainHead(), scene.marks);
    },
    origin: { x: left - 20, y: box.y, cell: 0, pitch },
    hit: (x, y) => tokenHit(axes, box, x, y),
  };
}

function heatFigure(scene, width) {
  const { axes, heads, rowWidth, size, pitch } = scene;
  const across = Math.min(heads.length === 4 ? 2 : heads.length, Math.max(1, Math.floor(width / (rowWidth + 150))), 3);
  const fitting = (width / across - rowWidth - 34) / axes.columns.entries.length;
  const cell = state.fit ? Math.max(4, Math.min(heads.length > 1 ? 28 : 44, fitting)) : Math.max(14, Math.min(40, fitting));
  const high = state.fit ? Math.min(Math.max(cell, 4), 30) : Math.min(Math.max(cell, pitch), 30);
  const labels = Math.min(size, Math.max(10, Math.round(cell * 0.75)));
  const top = columnLabelHeight(axes.columns.entries, cell, labels);
  const panel = { width: rowWidth + cell * axes.columns.entries.length + 34, height: top + high * axes.rows.entries.length + 36 };
  const content = Math.max(Math.min(width, 560), across * panel.width);
  const header = headerOf(scene, content);
  const boxes = heads.map((_, i) => ({
    x: (i % across) * panel.width + rowWidth,
    y: header + Math.floor(i / across) * panel.height + top + 16,
    cell, pitch: high, size: labels, label: scene.label, top,
  }));
  return {
    width: content,
    height: header + Math.ceil(heads.length / across) * panel.height + 8,
    draw(painter) {
      drawHeader(painter, scene, content);
      boxes.forEach((box, i) => {
        const title = { fill: headColor(headKey(heads[i])), size: 13, weight: 700 };
        if (heads.length > 1) painter.text(box.x - rowWidth, box.y - top - 4, figureName(heads[i]), title);
        drawLabels(painter, axes.rows, box.x - 8, box, scene.marks, "row");
        drawHeatmap(painter, box, axes, heads[i], scene.marks);
      });
    },
    origin: boxes[0],
    hit(x, y) {
      return boxes.map((box) => heatmapHit(box, axes, x, y) ?? labelHit(axes, box, x, y, rowWidth)).find(Boolean) ?? null;
    },
  };
}

/** Heat map and lines side by side: one column of tokens labels the rows of the map and starts the lines. */
function bothFigure(scene, width) {
  const { axes, pitch, size, rowWidth, columnWidth } = scene;
  const barWidth = BAR + NUMBER * Math.min(2, scene.heads.length);
  const count = axes.columns.entries.length;
  const rest = width - rowWidth - columnWidth - barWidth - 3 * GAP;
  const cell = Math.max(1.5, Math.min(14, 240 / count), Math.min(1.15 * pitch, (rest - 170) / count));
  const gap = Math.max(110, Math.min(300, rest - cell * count - 8));
  const top = columnLabelHeight(axes.columns.entries, cell, size);
  const left = 8 + cell * count + GAP + rowWidth;
  const end = left + gap + GAP + columnWidth;
  const heat = { x: 8, y: headerOf(scene, end + barWidth) + Math.max(26, top), cell, pitch, size, label: scene.label, top };
  const box = { ...heat, left: left + GAP, right: left + gap };
  return {
    width: end + barWidth,
    height: heat.y + pitch * longest(axes) + 16,
    draw(painter) {
      drawHeader(painter, scene, end + barWidth);
      drawHeatmap(painter, heat, axes, mainHead(), scene.marks);
      drawTitles(painter, box, left, box.right + GAP, end + barWidth - 8);
      drawLabels(painter, axes.rows, left, box, scene.marks, "row");
      drawLabels(painter, axes.columns, box.right + GAP, box, scene.marks, "column");
      drawCurves(painter, box, scene.heads, scene.marks);
      drawKeyValues(painter, end, box, scene.heads, scene.marks);
    },
    origin: heat,
    hit: (x, y) => (x < left - rowWidth ? heatmapHit(heat, axes, x, y) : tokenHit(axes, box, x, y)),
  };
}

function longest(axes) {
  return Math.max(axes.rows.entries.length, axes.columns.entries.length);
}

/** The selected heads with their color and dash, and the color scale. */
function drawHeader(painter, scene, width) {
  let x = 0;
  for (const head of scene.heads) {
    const key = headKey(head);
    const dash = scene.heads.length > 1 ? headDash(key) : [];
    painter.curve([x, 14], [x + 22, 14], { stroke: headColor(key), line: 3, dash });
    painter.text(x + 28, 14, figureName(head), { fill: themeColors().ink, size: 13, weight: 600 });
    x += 28 + widthOf(figureName(head), 13, 600) + 18;
  }
  const measure = measureOf(state.measure);
  const below = headerOf(scene, width) > HEADER;
  const start = below ? widthOf(measure.label, 12) + 24 : width - legendWidth(scene) + 12;
  drawLegend(painter, start, below ? 40 : 14, measure, hasUnknown(scene));
}

/** The height of the header: the legend moves below the names where they would overlap. */
function headerOf(scene, width) {
  const names = scene.heads.reduce((sum, head) => sum + 46 + widthOf(figureName(head), 13, 600), 0);
  return names + legendWidth(scene) + widthOf(measureOf(state.measure).label, 12) < width ? HEADER : HEADER + 26;
}

function legendWidth(scene) {
  return hasUnknown(scene) ? LEGEND + HATCH_LEGEND : LEGEND;
}

/** Whether a selected head has cells whose value is unknown. */
function hasUnknown({ axes, heads }) {
  const corner = [axes.rows.entries.length - 1, axes.columns.entries.length - 1]; // the last positions are the unknown ones
  return heads.some((head) => unknownOf(state, head)(...corner));
}

function drawTitles(painter, box, left, right, end) {
  const mark = marksOn(axesOf(state)).find(({ row }) => row >= 0);
  if (!mark) painter.text(end, box.y - 14, "mean", { fill: themeColors().soft, size: 11, align: "right" });
  painter.text(left, box.y - 14, "query", { fill: themeColors().soft, size: 11, align: "right" });
  painter.text(right, box.y - 14, "key", { fill: themeColors().soft, size: 11 });
}

/** Tokens one below another, right-aligned to the lines where they are rows. */
function drawLabels(painter, side, x, box, marks, which) {
  const stride = Math.max(1, Math.ceil(11 / box.pitch));
  side.entries.forEach((entry, i) => {
    const mark = marks.find((other) => other[which] === i);
    const near = stride > 1 && marks.some((other) => other[which] >= 0 && Math.abs(other[which] - i) * box.pitch < 11);
    if (!mark && (i % stride || near)) return;
    const y = box.y + (i + 0.5) * box.pitch;
    const align = which === "row" ? "right" : "left";
    const text = truncate(entry.label, box.size, box.label, mark ? 700 : 400);
    if (mark && box.pitch >= 14) {
      const wide = widthOf(text, box.size, 700) + 8;
      const start = which === "row" ? x - wide + 4 : x - 4;
      painter.rect(start, y - box.pitch / 2 + 1, wide, box.pitch - 2, { fill: themeColors().quiet, radius: 4 });
    }
    const fill = entry.special ? themeColors().soft : themeColors().ink;
    painter.text(x, y, text, { fill, size: box.size, weight: mark ? 700 : 400, align });
  });
}

function tokenHit(axes, box, x, y) {
  const index = Math.floor((y - box.y) / box.pitch);
  const middle = (box.left + box.right) / 2;
  if (index < 0) return null;
  if (x < middle) return index < axes.rows.entries.length ? { row: index, column: -1 } : null;
  return index < axes.columns.entries.length ? { row: -1, column: index } : null;
}

function labelHit(axes, box, x, y, width) {
  const row = Math.floor((y - box.y) / box.pitch);
  return x < box.x && x > box.x - width && row >= 0 && row < axes.rows.entries.length ? { row, column: -1 } : null;
}
