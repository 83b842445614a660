// Lines from queries (left) to keys (right): the larger the value, the wider the line. A focused token is isolated.

import { displayedMatrix, meanOfColumn } from "./axes.js";
import { dark, headColor, headDash, themeColors, scale, strength } from "./color.js";
import { measureOf, headKey } from "./data.js";
import { state } from "./state.js";
import { formatNumber } from "./format.js";

const MAX_LINES = 2000;
const MASS = 0.8; // of a row's total is drawn when nothing is in focus; drawing all would hide the rest
const MIN_STRENGTH = 0.004; // a weaker line would be invisible
export const BAR = 64;
export const NUMBER = 52;

/** The curves of the focused tokens, else the strongest of every row. */
export function drawCurves(painter, box, heads, marks) {
  const lines = heads.flatMap((head) => (marks.length ? focused(head, marks) : strongest(head)));
  lines.sort((a, b) => Math.abs(a.strength) - Math.abs(b.strength));
  for (const line of lines.slice(-MAX_LINES)) drawCurve(painter, box, line, headOffset(box, heads, line.head));
}

/** Bars and numbers next to the keys. */
export function drawKeyValues(painter, x, box, heads, marks) {
  const mark = marks.find(({ row }) => row >= 0);
  heads.slice(-2).forEach((head, i, all) => {
    const values = displayedMatrix(state, head);
    if (!values) return;
    const column = x + i * (BAR / all.length + NUMBER);
    for (let c = 0; c < values.columns; c++) {
      const reading = mark ? { value: values.values[mark.row * values.columns + c] } : meanOfColumn(state, head, c);
      drawBar(painter, column, box, c, { ...reading, head, bar: BAR / all.length, quiet: !mark });
    }
  });
}

/** Numbers next to the queries, when a key is in focus. */
export function drawQueryValues(painter, right, box, head, marks) {
  const mark = marks.find(({ row, column }) => row < 0 && column >= 0);
  const values = mark && displayedMatrix(state, head);
  if (!values) return;
  for (let r = 0; r < values.rows; r++) {
    const value = values.values[r * values.columns + mark.column];
    const fill = Math.abs(strength(value)) > 0.01 ? themeColors().ink : themeColors().soft;
    painter.text(right, box.y + (r + 0.5) * box.pitch, formatNumber(value), { fill, size: Math.min(12, box.size), align: "right" });
  }
}

function drawBar(painter, x, box, c, { value, atLeast, head, bar, quiet }) {
  const y = box.y + (c + 0.5) * box.pitch;
  const size = Math.abs(strength(value)) || 0;
  const thick = Math.max(3, Math.min(10, box.pitch - 8));
  const color = measureOf(state.measure).signed ? signColor(value) : headColor(headKey(head));
  if (!Number.isNaN(value)) painter.rect(x, y - thick / 2, Math.max(0.5, size * bar), thick, { fill: color, alpha: quiet ? 0.35 : 0.9, radius: 1.5 });
  const fill = quiet || size < 0.005 ? themeColors().soft : themeColors().ink;
  const weight = !quiet && size > 0.2 ? 700 : 400;
  const text = `${atLeast ? "≥ " : ""}${formatNumber(value)}`;
  painter.text(x + bar + NUMBER - 8, y, text, { fill, size: Math.min(12, box.size), align: "right", weight });
}

/** Lines of several heads run side by side, not on top of each other. */
function headOffset(box, heads, head) {
  return (heads.indexOf(head) - (heads.length - 1) / 2) * Math.min(5, (0.7 * box.pitch) / heads.length);
}

function drawCurve(painter, box, line, offset) {
  const size = Math.abs(line.strength);
  const from = [box.left, box.y + (line.row + 0.5) * box.pitch + offset];
  const to = [box.right, box.y + (line.column + 0.5) * box.pitch + offset];
  const color = measureOf(state.measure).signed ? signColor(line.value) : headColor(headKey(line.head));
  // With many rows, weak lines fade so that strong ones stand out.
  const density = line.focused ? 1 : Math.max(0.25, Math.min(1, 24 / line.rows));
  const minAlpha = line.focused ? 0.25 : 0.12 * density;
  const alpha = Math.min(1, minAlpha + 0.85 * size ** (1 / Math.sqrt(density))) * (line.quiet ? 0.6 : 1);
  const dash = state.heads.length > 1 ? headDash(headKey(line.head)) : [];
  painter.curve(from, to, { stroke: color, line: 0.7 + Math.min(4, 0.22 * box.pitch) * size, alpha, dash });
}

function focused(head, marks) {
  const values = displayedMatrix(state, head);
  if (!values) return [];
  const strengthOf = scale();
  return marks.flatMap((mark) => {
    const rows = mark.row >= 0 ? [mark.row] : range(values.rows);
    const columns = mark.row >= 0 ? range(values.columns) : [mark.column];
    return rows.flatMap((row) => columns.map((column) => {
      const quiet = mark.row >= 0 && mark.column >= 0 && column !== mark.column;
      return { ...line(head, values, row, column, strengthOf), focused: true, quiet };
    }));
  }).filter(({ strength: size }) => Math.abs(size) > MIN_STRENGTH);
}

/** The largest cells of each row, until they cover most of its mass. */
function strongest(head) {
  const values = displayedMatrix(state, head);
  if (!values) return [];
  const strengthOf = scale();
  return range(values.rows).flatMap((row) => {
    const all = range(values.columns).map((column) => line(head, values, row, column, strengthOf));
    all.sort((a, b) => Math.abs(b.strength) - Math.abs(a.strength));
    let remaining = MASS * all.reduce((sum, { value }) => sum + Math.abs(value || 0), 0);
    return all.filter(({ value, strength: size }) => {
      const visible = remaining > 0 && Math.abs(size) > MIN_STRENGTH;
      remaining -= Math.abs(value || 0);
      return visible;
    });
  });
}

function line(head, values, row, column, strengthOf) {
  const value = values.values[row * values.columns + column];
  return { head, row, column, value, rows: values.rows, strength: Number.isNaN(value) ? 0 : strengthOf(value) };
}

function signColor(value) {
  return value < 0 ? (dark() ? "#4a90d0" : "#3f7fc0") : dark() ? "#e08e3a" : "#c4661a";
}

function range(count) {
  return Array.from({ length: count }, (_, i) => i);
}
