// Sentences of the corpus that fit the head's role best, median and worst.

import { shader } from "./color.js";
import { facts, numbers } from "./data.js";
import { make, resizeCanvas } from "./page.js";
import { formatNumber } from "./format.js";

const SIDE = 104;
const MAX_LETTERS = 150; // of a sentence beside its matrix

export function evidence(head) {
  const stored = facts.evidence[head.name];
  if (!stored) return null;
  const values = numbers(`evidence/${head.name}`, stored);
  if (!values) return make("p", { class: "hint" }, "loading …");
  let start = 0;
  return stored.cards.map((card) => {
    const rows = facts.sentences[card.rows];
    const columns = facts.sentences[card.columns];
    const part = values.subarray(start, start + rows.length * columns.length);
    start += rows.length * columns.length;
    return makeCard(card, rows, columns, part);
  });
}

function makeCard(card, rows, columns, values) {
  const label = `weights of the ${card.rank} sentence, ${rows.length} by ${columns.length}`;
  const canvas = make("canvas", { role: "img", "aria-label": label });
  drawMatrix(canvas, rows, columns, values);
  const sentence = truncated(facts.texts[card.text]);
  const text = make("p", { class: "note", dir: "auto", "aria-live": "off" }, sentence);
  const indexAt = (fraction, count) => Math.min(count - 1, Math.max(0, Math.floor(fraction * count)));
  canvas.addEventListener("pointermove", (event) => {
    const row = indexAt(event.offsetY / canvas.clientHeight, rows.length);
    const column = indexAt(event.offsetX / canvas.clientWidth, columns.length);
    const pair = [rows[row], columns[column]].map((token) => make("bdi", {}, withoutMark(token)));
    text.replaceChildren(pair[0], " → ", pair[1], ` ${formatNumber(values[row * columns.length + column])}`);
  });
  canvas.addEventListener("pointerleave", () => (text.textContent = sentence));
  const title = make("p", { class: "rank" }, make("strong", {}, card.rank), ` lift ${formatNumber(card.lift, 2)}`);
  return make("div", { class: "card" }, canvas, make("div", {}, title, text));
}

function drawMatrix(canvas, rows, columns, values) {
  const scale = SIDE / Math.max(rows.length, columns.length);
  const context = resizeCanvas(canvas, Math.max(24, columns.length * scale), Math.max(24, rows.length * scale));
  const [wide, high] = [parseFloat(canvas.style.width) / columns.length, parseFloat(canvas.style.height) / rows.length];
  const shadeOf = shader("weight");
  rows.forEach((_, r) => columns.forEach((__, c) => {
    context.fillStyle = `rgb(${shadeOf(values[r * columns.length + c]).join()})`;
    context.fillRect(c * wide, r * high, wide + 0.5, high + 0.5);
  }));
}

function withoutMark(token) {
  return token.replace(/^(▁|##)/, "") || "␣";
}

function truncated(text) {
  const letters = [...text];
  return letters.length > MAX_LETTERS ? `${letters.slice(0, MAX_LETTERS).join("")}…` : text;
}
