// Lines: who looks (left) at whom (right), the stronger the wider; one token isolated at a time.

import { shown } from "./axes.js";
import { dark, headColour, headDash, inks, scale, strength } from "./colour.js";
import { measureOf, placeOf } from "./data.js";
import { state } from "./state.js";
import { figure } from "./written.js";

const MOST_LINES = 2000;
const MASS = 0.8; // of a row's total is drawn when nothing is in focus; the rest would be fog
const FAINT = 0.004; // strength below which a line could not be seen
export const BAR = 64;
export const NUMBER = 52;

/** All curves that the state asks for: those of the focused tokens, else the strongest of every row. */
export function drawCurves(painter, box, heads, marks) {
  const found = heads.flatMap((head) => (marks.length ? focused(head, marks) : strongest(head)));
  found.sort((a, b) => Math.abs(a.strength) - Math.abs(b.strength));
  for (const line of found.slice(-MOST_LINES)) drawCurve(painter, box, line, apart(box, heads, line.head));
}

/** Bars and numbers beside the tokens that are looked at. */
export function drawShares(painter, x, box, heads, marks) {
  const mark = marks.find((each) => each.row >= 0);
  heads.slice(-2).forEach((head, i, all) => {
    const values = shown(state, head);
    if (!values) return;
    const column = x + i * (BAR / all.length + NUMBER);
    for (let c = 0; c < values.columns; c++) {
      const value = mark ? values.values[mark.row * values.columns + c] : received(values, c);
      drawBar(painter, column, box, c, { value, head, bar: BAR / all.length, quiet: !mark });
    }
  });
}

/** Numbers beside the tokens that look, when one that is looked at is in focus. */
export function drawLooks(painter, right, box, head, marks) {
  const mark = marks.find((each) => each.row < 0 && each.column >= 0);
  const values = mark && shown(state, head);
  if (!values) return;
  for (let r = 0; r < values.rows; r++) {
    const value = values.values[r * values.columns + mark.column];
    const fill = Math.abs(strength(value)) > 0.01 ? inks().ink : inks().soft;
    painter.text(right, box.y + (r + 0.5) * box.pitch, figure(value), { fill, size: Math.min(12, box.size), align: "right" });
  }
}

function drawBar(painter, x, box, c, { value, head, bar, quiet }) {
  const y = box.y + (c + 0.5) * box.pitch;
  const part = Math.abs(strength(value)) || 0;
  const thick = Math.max(3, Math.min(10, box.pitch - 8));
  const colour = measureOf(state.measure).signed ? signColour(value) : headColour(placeOf(head));
  painter.rect(x, y - thick / 2, Math.max(0.5, part * bar), thick, { fill: colour, alpha: quiet ? 0.35 : 0.9, radius: 1.5 });
  const fill = quiet || part < 0.005 ? inks().soft : inks().ink;
  const weight = !quiet && part > 0.2 ? 700 : 400;
  painter.text(x + bar + NUMBER - 8, y, figure(value), { fill, size: Math.min(12, box.size), align: "right", weight });
}

/** Heads that look at the same token run side by side, not over one another. */
function apart(box, heads, head) {
  return (heads.indexOf(head) - (heads.length - 1) / 2) * Math.min(5, (0.7 * box.pitch) / heads.length);
}

function drawCurve(painter, box, line, shift) {
  const size = Math.abs(line.strength);
  const from = [box.left, box.y + (line.row + 0.5) * box.pitch + shift];
  const to = [box.right, box.y + (line.column + 0.5) * box.pitch + shift];
  const colour = measureOf(state.measure).signed ? signColour(line.value) : headColour(placeOf(line.head));
  // Where there are many lines, weak ones make room for strong ones.
  const crowd = line.focused ? 1 : Math.max(0.25, Math.min(1, 24 / line.rows));
  const least = line.focused ? 0.25 : 0.12 * crowd;
  const alpha = Math.min(1, least + 0.85 * size ** (1 / Math.sqrt(crowd))) * (line.quiet ? 0.6 : 1);
  const dash = state.heads.length > 1 ? headDash(placeOf(line.head)) : [];
  painter.curve(from, to, { stroke: colour, line: 0.7 + Math.min(4, 0.22 * box.pitch) * size, alpha, dash });
}

function focused(head, marks) {
  const values = shown(state, head);
  if (!values) return [];
  const strengthOf = scale();
  return marks.flatMap((mark) => {
    const rows = mark.row >= 0 ? [mark.row] : range(values.rows);
    const columns = mark.row >= 0 ? range(values.columns) : [mark.column];
    return rows.flatMap((row) => columns.map((column) => {
      const quiet = mark.row >= 0 && mark.column >= 0 && column !== mark.column;
      return { ...line(head, values, row, column, strengthOf), focused: true, quiet };
    }));
  }).filter(({ strength: size }) => Math.abs(size) > FAINT);
}

/** The largest cells of each row until most of its mass is drawn. */
function strongest(head) {
  const values = shown(state, head);
  if (!values) return [];
  const strengthOf = scale();
  return range(values.rows).flatMap((row) => {
    const all = range(values.columns).map((column) => line(head, values, row, column, strengthOf));
    all.sort((a, b) => Math.abs(b.strength) - Math.abs(a.strength));
    let left = MASS * all.reduce((sum, each) => sum + Math.abs(each.value || 0), 0);
    return all.filter((each) => {
      const wanted = left > 0 && Math.abs(each.strength) > FAINT;
      left -= Math.abs(each.value || 0);
      return wanted;
    });
  });
}

function line(head, values, row, column, strengthOf) {
  const value = values.values[row * values.columns + column];
  return { head, row, column, value, rows: values.rows, strength: Number.isNaN(value) ? 0 : strengthOf(value) };
}

/** What a column gets on average over rows. */
function received({ rows, columns, values }, column) {
  const all = range(rows).map((row) => values[row * columns + column]).filter((value) => !Number.isNaN(value));
  return all.length ? all.reduce((a, b) => a + b, 0) / all.length : NaN;
}

function signColour(value) {
  return value < 0 ? (dark() ? "#4a90d0" : "#3f7fc0") : dark() ? "#e08e3a" : "#c4661a";
}

function range(count) {
  return Array.from({ length: count }, (_, i) => i);
}
