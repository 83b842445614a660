// The heat map: one cell per pair; rows are queries, columns are keys.

import { maskOf, displayedMatrix, unknownOf } from "./axes.js";
import { shade, shader, textColorOn, themeColors } from "./color.js";
import { truncate, widthOf } from "./painter.js";
import { formatLimit, formatNumber } from "./format.js";
import { state } from "./state.js";

const MIN_CELL_FOR_NUMBER = 30;
const LABEL_ANGLE = -50;

/** Height of the column labels above the cells. */
export function columnLabelHeight(columns, cell, size) {
  const widest = Math.min(130, Math.max(...columns.map((column) => widthOf(column.label, size))));
  return Math.ceil(widest * (cell < 13 ? 1 : 0.8) + 12);
}

/** Cells with their grid, numbers where they fit, and the focus. */
export function drawHeatmap(painter, box, axes, head, marks) {
  const values = displayedMatrix(state, head);
  if (!values) return;
  const { rows, columns } = values;
  const [masked, shadeOf] = [maskOf(state), shader()];
  const color = (r, c) => shadeOf(masked(r, c) ? NaN : values.values[r * columns + c]);
  const cacheKey = `${state.measure}/${state.root}/${themeColors().paper}`; // what else the colors depend on
  painter.cells(box.x, box.y, box.cell * columns, box.pitch * rows, { rows, columns, color, values: values.values, cacheKey });
  drawUnknown(painter, box, rows, columns, unknownOf(state, head));
  if (box.cell >= 9) drawGaps(painter, box, rows, columns);
  if (box.cell >= MIN_CELL_FOR_NUMBER && box.pitch >= 16) drawNumbers(painter, box, values);
  painter.rect(box.x - 0.5, box.y - 0.5, box.cell * columns + 1, box.pitch * rows + 1, { stroke: themeColors().line });
  drawColumnLabels(painter, box, axes.columns.entries, marks);
  drawMarks(painter, box, rows, columns, marks);
}

/** The cell at a point as entries of both axes, or null. */
export function heatmapHit(box, axes, x, y) {
  const column = Math.floor((x - box.x) / box.cell);
  const row = Math.floor((y - box.y) / box.pitch);
  const inside = row < axes.rows.entries.length && column >= 0 && column < axes.columns.entries.length;
  if (inside && row >= 0) return { row, column };
  return inside && y > box.y - box.top ? { row: -1, column } : null;
}

/** Cells without a value because it is unknown are hatched: a color would be a number. */
export function drawUnknown(painter, box, rows, columns, isUnknown) {
  for (let r = 0; r < rows; r++) {
    for (let c = 0; c < columns; c++) {
      if (!isUnknown(r, c)) continue;
      let end = c + 1;
      while (end < columns && isUnknown(r, end)) end++;
      const [x, y] = [box.x + c * box.cell, box.y + r * box.pitch];
      painter.hatch(x, y, (end - c) * box.cell, box.pitch, { stroke: themeColors().soft });
      c = end;
    }
  }
}

function drawGaps(painter, box, rows, columns) {
  const background = { fill: themeColors().paper };
  for (let r = 1; r < rows; r++) painter.rect(box.x, box.y + r * box.pitch - 0.5, columns * box.cell, 1, background);
  for (let c = 1; c < columns; c++) painter.rect(box.x + c * box.cell - 0.5, box.y, 1, rows * box.pitch, background);
}

function drawNumbers(painter, box, { rows, columns, values }) {
  for (let r = 0; r < rows; r++) {
    for (let c = 0; c < columns; c++) {
      const value = values[r * columns + c];
      const text = formatNumber(value, Math.abs(value) >= 10 ? 1 : 2);
      if (Number.isNaN(value) || Number(text.replace("−", "-")) === 0) continue;
      const center = [box.x + (c + 0.5) * box.cell, box.y + (r + 0.5) * box.pitch];
      painter.text(...center, text, { fill: textColorOn(shade(value)), size: 11, align: "center" });
    }
  }
}

function drawColumnLabels(painter, box, columns, marks) {
  const stride = Math.max(1, Math.ceil(11 / box.cell));
  const upright = box.cell < 13;
  const selected = new Set(marks.map((mark) => mark.column));
  columns.forEach((column, c) => {
    const strong = selected.has(c);
    // Where labels are thinned out, those near a selected one are dropped too.
    const near = stride > 1 && marks.some((mark) => mark.column >= 0 && Math.abs(mark.column - c) * box.cell < 11);
    if (!strong && (c % stride || near)) return;
    const text = truncate(column.label, box.size, 130, strong ? 700 : 400);
    const fill = strong ? themeColors().ink : column.special ? themeColors().soft : themeColors().ink;
    const style = { fill, size: box.size, weight: strong ? 700 : 400, angle: upright ? -90 : LABEL_ANGLE };
    painter.text(box.x + (c + 0.5) * box.cell, box.y - 7, text, style);
  });
}

/** Focus and pins: a band for a row or a column, a frame and a letter for a cell. */
function drawMarks(painter, box, rows, columns, marks) {
  for (const { row, column, letter } of marks) {
    const frame = { stroke: themeColors().accent, line: letter ? 1.5 : 2 };
    const [x, y] = [box.x + column * box.cell, box.y + row * box.pitch];
    if (row >= 0) painter.rect(box.x, y, columns * box.cell, box.pitch, { stroke: themeColors().ink, line: 1 });
    if (column >= 0) painter.rect(x, box.y, box.cell, rows * box.pitch, { stroke: themeColors().ink, line: 1 });
    if (row >= 0 && column >= 0) painter.rect(x - 1, y - 1, box.cell + 2, box.pitch + 2, frame);
    if (letter) drawLetter(painter, column >= 0 ? x : box.x, row >= 0 ? y : box.y, letter);
  }
}

function drawLetter(painter, x, y, letter) {
  painter.rect(x - 8, y - 8, 15, 15, { fill: themeColors().accent, radius: 7.5, stroke: themeColors().paper, line: 1.5 });
  painter.text(x - 0.5, y, letter, { fill: themeColors().paper, size: 10, weight: 700, align: "center" });
}

/** The color scale with its limits, and the hatching where it occurs. */
export function drawLegend(painter, x, y, { top, signed: hasSign, label, clipped }, hatched) {
  const width = 120;
  const color = (_, c) => shade(hasSign ? (c / 30 - 1) * top : (c / 60) * top);
  const low = hasSign ? formatLimit(-top) : "0";
  painter.text(x + 16 - widthOf(low, 12), y, label, { fill: themeColors().soft, size: 12, align: "right" });
  painter.cells(x + 28, y - 6, width, 12, { rows: 1, columns: 61, color });
  painter.rect(x + 27.5, y - 6.5, width + 1, 13, { stroke: themeColors().line });
  painter.text(x + 24, y, low, { fill: themeColors().ink, size: 12, align: "right" });
  const high = `${formatLimit(top)}${clipped ? "+" : ""}`;
  painter.text(x + 28 + width + 5, y, high, { fill: themeColors().ink, size: 12 });
  if (!hatched) return;
  const end = x + 28 + width + 5 + widthOf(high, 12) + 14;
  painter.hatch(end, y - 6, 18, 12, { stroke: themeColors().soft });
  painter.rect(end - 0.5, y - 6.5, 19, 13, { stroke: themeColors().line });
  painter.text(end + 24, y, "unknown", { fill: themeColors().ink, size: 12 });
}
