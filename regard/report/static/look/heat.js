// The heat map: a cell a pair, rows look, columns are looked at.

import { maskOf, shown } from "./axes.js";
import { placeOf } from "./data.js";
import { headColour, inkOn, inks, shade, shader } from "./colour.js";
import { fitted, widthOf } from "./painter.js";
import { figure } from "./written.js";
import { state } from "./state.js";

const ROOM_FOR_A_NUMBER = 30;
const SLANT = -50;

/** Room above the cells for the columns' labels. */
export function topRoom(columns, cell, size) {
  const widest = Math.min(130, Math.max(...columns.map((column) => widthOf(column.label, size))));
  return Math.ceil(widest * (cell < 13 ? 1 : 0.8) + 12);
}

/** Cells with their grid, numbers where there is room, and what is in focus. */
export function drawHeat(painter, box, axes, head, marks) {
  const values = shown(state, head);
  if (!values) return;
  const { rows, columns } = values;
  const [masked, shadeOf] = [maskOf(state), shader()];
  const colour = (r, c) => shadeOf(masked(r, c) ? NaN : values.values[r * columns + c]);
  const way = `${state.measure}/${state.root}/${inks().paper}`; // what else the colours depend on
  painter.cells(box.x, box.y, box.cell * columns, box.pitch * rows, { rows, columns, colour, values: values.values, way });
  if (box.cell >= 9) drawGaps(painter, box, rows, columns);
  if (box.cell >= ROOM_FOR_A_NUMBER && box.pitch >= 16) drawNumbers(painter, box, values);
  painter.rect(box.x - 0.5, box.y - 0.5, box.cell * columns + 1, box.pitch * rows + 1, { stroke: inks().line });
  drawColumnLabels(painter, box, axes.columns.entries, marks);
  drawMarks(painter, box, rows, columns, marks, headColour(placeOf(head)));
}

/** The cell under a point: entries of both axes, or null. */
export function heatHit(box, axes, x, y) {
  const column = Math.floor((x - box.x) / box.cell);
  const row = Math.floor((y - box.y) / box.pitch);
  const inside = row < axes.rows.entries.length && column >= 0 && column < axes.columns.entries.length;
  if (inside && row >= 0) return { row, column };
  return inside && y > box.y - box.top ? { row: -1, column } : null;
}

function drawGaps(painter, box, rows, columns) {
  const ground = { fill: inks().paper };
  for (let r = 1; r < rows; r++) painter.rect(box.x, box.y + r * box.pitch - 0.5, columns * box.cell, 1, ground);
  for (let c = 1; c < columns; c++) painter.rect(box.x + c * box.cell - 0.5, box.y, 1, rows * box.pitch, ground);
}

function drawNumbers(painter, box, { rows, columns, values }) {
  for (let r = 0; r < rows; r++) {
    for (let c = 0; c < columns; c++) {
      const value = values[r * columns + c];
      const text = figure(value, Math.abs(value) >= 10 ? 1 : 2);
      if (Number.isNaN(value) || Number(text.replace("−", "-")) === 0) continue;
      const at = [box.x + (c + 0.5) * box.cell, box.y + (r + 0.5) * box.pitch];
      painter.text(...at, text, { fill: inkOn(shade(value)), size: 11, align: "center" });
    }
  }
}

function drawColumnLabels(painter, box, columns, marks) {
  const every = Math.max(1, Math.ceil(11 / box.cell));
  const upright = box.cell < 13;
  const chosen = new Set(marks.map((mark) => mark.column));
  columns.forEach((column, c) => {
    const strong = chosen.has(c);
    // Where labels are thinned out, those near a chosen one make room for it.
    const near = every > 1 && marks.some((mark) => mark.column >= 0 && Math.abs(mark.column - c) * box.cell < 11);
    if (!strong && (c % every || near)) return;
    const text = fitted(column.label, box.size, 130, strong ? 700 : 400);
    const fill = strong ? inks().ink : column.special ? inks().soft : inks().ink;
    const how = { fill, size: box.size, weight: strong ? 700 : 400, angle: upright ? -90 : SLANT };
    painter.text(box.x + (c + 0.5) * box.cell, box.y - 7, text, how);
  });
}

/** Focus and pins: bands for a row or a column, a frame and a letter for a cell. */
function drawMarks(painter, box, rows, columns, marks, colour) {
  for (const { row, column, letter } of marks) {
    const frame = { stroke: inks().accent, line: letter ? 1.5 : 2 };
    const [x, y] = [box.x + column * box.cell, box.y + row * box.pitch];
    if (row >= 0) painter.rect(box.x, y, columns * box.cell, box.pitch, { stroke: inks().ink, line: 1 });
    if (column >= 0) painter.rect(x, box.y, box.cell, rows * box.pitch, { stroke: inks().ink, line: 1 });
    if (row >= 0 && column >= 0) painter.rect(x - 1, y - 1, box.cell + 2, box.pitch + 2, frame);
    if (letter) drawLetter(painter, column >= 0 ? x : box.x, row >= 0 ? y : box.y, letter, colour);
  }
}

function drawLetter(painter, x, y, letter, colour) {
  painter.rect(x - 8, y - 8, 15, 15, { fill: inks().accent, radius: 7.5, stroke: inks().paper, line: 1.5 });
  painter.text(x - 0.5, y, letter, { fill: inks().paper, size: 10, weight: 700, align: "center" });
}

/** The scale of colours with its ends written out. */
export function drawLegend(painter, x, y, { top, signed: hasSign, label, clipped }) {
  const width = 120;
  const colour = (_, c) => shade(hasSign ? (c / 30 - 1) * top : (c / 60) * top);
  const low = hasSign ? ends(-top) : "0";
  painter.text(x + 16 - widthOf(low, 12), y, label, { fill: inks().soft, size: 12, align: "right" });
  painter.cells(x + 28, y - 6, width, 12, { rows: 1, columns: 61, colour });
  painter.rect(x + 27.5, y - 6.5, width + 1, 13, { stroke: inks().line });
  painter.text(x + 24, y, low, { fill: inks().ink, size: 12, align: "right" });
  painter.text(x + 28 + width + 5, y, `${ends(top)}${clipped ? "+" : ""}`, { fill: inks().ink, size: 12 });
}

function ends(value) {
  return figure(value, Number.isInteger(value) ? 0 : Math.abs(value) < 1 ? 2 : 1);
}
