// Sentences of the corpus where the head does what it is named for: the best, the median and the worst.

import { shader } from "./colour.js";
import { facts, numbers } from "./data.js";
import { make, sharpen } from "./page.js";
import { figure } from "./written.js";

const SIDE = 104;

export function evidence(head) {
  const stored = facts.evidence[head.name];
  if (!stored) return null;
  const values = numbers(`evidence/${head.name}`, stored);
  if (!values) return make("p", { class: "hint" }, "reading …");
  let start = 0;
  return stored.cards.map((card) => {
    const rows = facts.sentences[card.rows];
    const columns = facts.sentences[card.columns];
    const part = values.subarray(start, start + rows.length * columns.length);
    start += rows.length * columns.length;
    return cardOf(card, rows, columns, part);
  });
}

function cardOf(card, rows, columns, values) {
  const label = `weights of the ${card.which} sentence, ${rows.length} by ${columns.length}`;
  const canvas = make("canvas", { role: "img", "aria-label": label });
  paint(canvas, rows, columns, values);
  const told = make("p", { class: "note", "aria-live": "off" }, joined(columns));
  const within = (part, count) => Math.min(count - 1, Math.max(0, Math.floor(part * count)));
  canvas.addEventListener("pointermove", (event) => {
    const row = within(event.offsetY / canvas.clientHeight, rows.length);
    const column = within(event.offsetX / canvas.clientWidth, columns.length);
    told.textContent = `${plain(rows[row])} → ${plain(columns[column])} ${figure(values[row * columns.length + column])}`;
  });
  canvas.addEventListener("pointerleave", () => (told.textContent = joined(columns)));
  const title = make("p", { class: "which" }, make("strong", {}, card.which), ` lift ${figure(card.lift, 2)}`);
  return make("div", { class: "card" }, canvas, make("div", {}, title, told));
}

function paint(canvas, rows, columns, values) {
  const scale = SIDE / Math.max(rows.length, columns.length);
  const context = sharpen(canvas, Math.max(24, columns.length * scale), Math.max(24, rows.length * scale));
  const [wide, high] = [parseFloat(canvas.style.width) / columns.length, parseFloat(canvas.style.height) / rows.length];
  const shadeOf = shader("weight");
  rows.forEach((_, r) => columns.forEach((__, c) => {
    context.fillStyle = `rgb(${shadeOf(values[r * columns.length + c]).join()})`;
    context.fillRect(c * wide, r * high, wide + 0.5, high + 0.5);
  }));
}

function plain(piece) {
  return piece.replace(/^(▁|##)/, "") || "␣";
}

/** The sentence as it was written, as far as pieces tell. */
function joined(pieces) {
  const words = pieces.filter((piece) => !/^<.*>$/.test(piece)); // without marks of begin and end
  const text = words.map((piece) => piece.replace(/^##/, "").replace(/^▁/, " ")).join("").trim();
  return text.length > 150 ? `${text.slice(0, 150)}…` : text;
}
