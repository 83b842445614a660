// The picture in the middle: where everything stands, how it is drawn by either hand, what lies under the pointer.

import { axesOf, entryOf } from "./axes.js";
import { headColour, headDash, inks } from "./colour.js";
import { measureOf, placeOf } from "./data.js";
import { drawHeat, drawLegend, heatHit, topRoom } from "./heat.js";
import { BAR, NUMBER, drawCurves, drawLooks, drawShares } from "./lines.js";
import { fitted, widthOf } from "./painter.js";
import { chosenHeads, focus, mainHead, pins, state } from "./state.js";
import { shortName } from "./written.js";

const HEADER = 40; // the line with the heads' names and, where there is room, the legend
const LEGEND = 208;
const GAP = 10;
const WIDEST_LABEL = 150;

/** {width, height, draw(painter), hit(x, y), origin: the first cell} for the present state in a given width. */
export function figureFor(width) {
  const axes = axesOf(state);
  const scene = { axes, heads: chosenHeads(), marks: marksOn(axes), ...sizes(axes, width) };
  const make = { lines: linesFigure, heat: heatFigure, both: bothFigure }[state.view];
  return make(scene, Math.max(280, width));
}

/** Focus and pins as entries of the axes. */
function marksOn(axes) {
  const place = ({ q, k, letter }) => ({ row: entryOf(axes.rows, q), column: entryOf(axes.columns, k), letter });
  const now = place(focus());
  const pinned = pins().map(place);
  return [now, ...pinned].filter(({ row, column }) => row >= 0 || column >= 0);
}

function sizes(axes, width) {
  const most = Math.max(axes.rows.entries.length, axes.columns.entries.length);
  const pitch = most <= 12 ? 32 : most <= 20 ? 28 : most <= 28 ? 24 : most <= 48 ? 18 : 14;
  const size = pitch >= 28 ? 14 : pitch >= 24 ? 13 : pitch >= 18 ? 12 : 11;
  const label = Math.max(80, Math.min(WIDEST_LABEL, 0.17 * width)); // longer ones are cut
  const widest = ({ entries }) => {
    return Math.ceil(Math.min(label, Math.max(...entries.map((entry) => widthOf(entry.label, size, 700)))));
  };
  return { pitch, size, label, rowRoom: widest(axes.rows) + 8, columnRoom: widest(axes.columns) + 8 };
}

function linesFigure(scene, width) {
  const { axes, pitch, size, rowRoom, columnRoom } = scene;
  const shares = BAR + NUMBER * Math.min(2, scene.heads.length);
  const left = NUMBER + rowRoom;
  const gap = Math.max(110, Math.min(380, width - left - columnRoom - shares - 2 * GAP));
  const end = left + gap + GAP + columnRoom;
  const box = { y: headerOf(scene, end + shares) + 26, pitch, size, label: scene.label, left: left + GAP, right: left + gap };
  return {
    width: end + shares,
    height: box.y + pitch * longest(axes) + 16,
    draw(painter) {
      drawHeader(painter, scene, end + shares);
      drawTitles(painter, box, left, box.right + GAP, end + shares - 8);
      drawLabels(painter, axes.rows, left, box, scene.marks, "row");
      drawLabels(painter, axes.columns, box.right + GAP, box, scene.marks, "column");
      drawCurves(painter, box, scene.heads, scene.marks);
      drawShares(painter, end, box, scene.heads, scene.marks);
      drawLooks(painter, NUMBER - 6, box, mainHead(), scene.marks);
    },
    origin: { x: left - 20, y: box.y, cell: 0, pitch },
    hit: (x, y) => tokenHit(axes, box, x, y),
  };
}

function heatFigure(scene, width) {
  const { axes, heads, rowRoom, size, pitch } = scene;
  const across = Math.min(heads.length === 4 ? 2 : heads.length, Math.max(1, Math.floor(width / (rowRoom + 150))), 3);
  const fitting = (width / across - rowRoom - 34) / axes.columns.entries.length;
  const cell = state.fit ? Math.max(4, Math.min(heads.length > 1 ? 28 : 44, fitting)) : Math.max(14, Math.min(40, fitting));
  const high = state.fit ? Math.min(Math.max(cell, 4), 30) : Math.min(Math.max(cell, pitch), 30);
  const labels = Math.min(size, Math.max(10, Math.round(cell * 0.75)));
  const top = topRoom(axes.columns.entries, cell, labels);
  const each = { width: rowRoom + cell * axes.columns.entries.length + 34, height: top + high * axes.rows.entries.length + 36 };
  const content = Math.max(Math.min(width, 560), across * each.width);
  const header = headerOf(scene, content);
  const boxes = heads.map((_, i) => ({
    x: (i % across) * each.width + rowRoom,
    y: header + Math.floor(i / across) * each.height + top + 16,
    cell, pitch: high, size: labels, label: scene.label, top,
  }));
  return {
    width: content,
    height: header + Math.ceil(heads.length / across) * each.height + 8,
    draw(painter) {
      drawHeader(painter, scene, content);
      boxes.forEach((box, i) => {
        const title = { fill: headColour(placeOf(heads[i])), size: 13, weight: 700 };
        if (heads.length > 1) painter.text(box.x - rowRoom, box.y - top - 4, shortName(heads[i]), title);
        drawLabels(painter, axes.rows, box.x - 8, box, scene.marks, "row");
        drawHeat(painter, box, axes, heads[i], scene.marks);
      });
    },
    origin: boxes[0],
    hit(x, y) {
      return boxes.map((box) => heatHit(box, axes, x, y) ?? labelHit(axes, box, x, y, rowRoom)).find(Boolean) ?? null;
    },
  };
}

/** Heat map and lines side by side: one column of tokens is the map's rows and the lines' beginning. */
function bothFigure(scene, width) {
  const { axes, pitch, size, rowRoom, columnRoom } = scene;
  const shares = BAR + NUMBER * Math.min(2, scene.heads.length);
  const count = axes.columns.entries.length;
  const rest = width - rowRoom - columnRoom - shares - 3 * GAP;
  const cell = Math.max(1.5, Math.min(14, 240 / count), Math.min(1.15 * pitch, (rest - 170) / count));
  const gap = Math.max(110, Math.min(300, rest - cell * count - 8));
  const top = topRoom(axes.columns.entries, cell, size);
  const left = 8 + cell * count + GAP + rowRoom;
  const end = left + gap + GAP + columnRoom;
  const heat = { x: 8, y: headerOf(scene, end + shares) + Math.max(26, top), cell, pitch, size, label: scene.label, top };
  const box = { ...heat, left: left + GAP, right: left + gap };
  return {
    width: end + shares,
    height: heat.y + pitch * longest(axes) + 16,
    draw(painter) {
      drawHeader(painter, scene, end + shares);
      drawHeat(painter, heat, axes, mainHead(), scene.marks);
      drawTitles(painter, box, left, box.right + GAP, end + shares - 8);
      drawLabels(painter, axes.rows, left, box, scene.marks, "row");
      drawLabels(painter, axes.columns, box.right + GAP, box, scene.marks, "column");
      drawCurves(painter, box, scene.heads, scene.marks);
      drawShares(painter, end, box, scene.heads, scene.marks);
    },
    origin: heat,
    hit: (x, y) => (x < left - rowRoom ? heatHit(heat, axes, x, y) : tokenHit(axes, box, x, y)),
  };
}

function longest(axes) {
  return Math.max(axes.rows.entries.length, axes.columns.entries.length);
}

/** The chosen heads with their colour and dash, and the scale. */
function drawHeader(painter, scene, width) {
  let x = 0;
  for (const head of scene.heads) {
    const place = placeOf(head);
    const dash = scene.heads.length > 1 ? headDash(place) : [];
    painter.curve([x, 14], [x + 22, 14], { stroke: headColour(place), line: 3, dash });
    painter.text(x + 28, 14, shortName(head), { fill: inks().ink, size: 13, weight: 600 });
    x += 28 + widthOf(shortName(head), 13, 600) + 18;
  }
  const measure = measureOf(state.measure);
  const below = headerOf(scene, width) > HEADER;
  drawLegend(painter, below ? widthOf(measure.label, 12) + 24 : width - LEGEND + 12, below ? 40 : 14, measure);
}

/** How high the header is: the legend goes below the names where they would meet. */
function headerOf(scene, width) {
  const names = scene.heads.reduce((sum, head) => sum + 46 + widthOf(shortName(head), 13, 600), 0);
  return names + LEGEND + widthOf(measureOf(state.measure).label, 12) < width ? HEADER : HEADER + 26;
}

function drawTitles(painter, box, left, right, end) {
  const mark = marksOn(axesOf(state)).find(({ row }) => row >= 0);
  if (!mark) painter.text(end, box.y - 14, "mean", { fill: inks().soft, size: 11, align: "right" });
  painter.text(left, box.y - 14, "looks", { fill: inks().soft, size: 11, align: "right" });
  painter.text(right, box.y - 14, "is looked at", { fill: inks().soft, size: 11 });
}

/** Tokens one below another, right-aligned to the lines where they are rows. */
function drawLabels(painter, side, x, box, marks, which) {
  const every = Math.max(1, Math.ceil(11 / box.pitch));
  side.entries.forEach((entry, i) => {
    const mark = marks.find((each) => each[which] === i);
    const near = every > 1 && marks.some((each) => each[which] >= 0 && Math.abs(each[which] - i) * box.pitch < 11);
    if (!mark && (i % every || near)) return;
    const y = box.y + (i + 0.5) * box.pitch;
    const align = which === "row" ? "right" : "left";
    const text = fitted(entry.label, box.size, box.label, mark ? 700 : 400);
    if (mark && box.pitch >= 14) {
      const wide = widthOf(text, box.size, 700) + 8;
      const start = which === "row" ? x - wide + 4 : x - 4;
      painter.rect(start, y - box.pitch / 2 + 1, wide, box.pitch - 2, { fill: inks().quiet, radius: 4 });
    }
    const fill = entry.special ? inks().soft : inks().ink;
    painter.text(x, y, text, { fill, size: box.size, weight: mark ? 700 : 400, align });
  });
}

function tokenHit(axes, box, x, y) {
  const at = Math.floor((y - box.y) / box.pitch);
  const middle = (box.left + box.right) / 2;
  if (at < 0) return null;
  if (x < middle) return at < axes.rows.entries.length ? { row: at, column: -1 } : null;
  return at < axes.columns.entries.length ? { row: -1, column: at } : null;
}

function labelHit(axes, box, x, y, room) {
  const row = Math.floor((y - box.y) / box.pitch);
  return x < box.x && x > box.x - room && row >= 0 && row < axes.rows.entries.length ? { row, column: -1 } : null;
}
