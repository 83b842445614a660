// The map on the left: every head of a kind as a thumbnail, with the letter of its role and its importance.

import { maskOf, displayedMatrix, unknownOf } from "./axes.js";
import { shader } from "./color.js";
import { facts, headsOf, kindOf, headKey } from "./data.js";
import { drawUnknown } from "./heat.js";
import { byId, fill, make, resizeCanvas } from "./page.js";
import { canvasPainter } from "./painter.js";
import { isShared, selectHead, state } from "./state.js";
import { longName, roleName, summary } from "./format.js";

let builtLayout = "";
let pendingFrame = 0;

export function drawMap() {
  const layout = `${state.kind}/${state.order}`;
  if (builtLayout !== layout) build();
  builtLayout = layout;
  for (const button of byId("map").querySelectorAll("button")) {
    const order = state.heads.indexOf(button.dataset.head);
    button.setAttribute("aria-pressed", order >= 0);
    button.dataset.main = order >= 0 && order === state.heads.length - 1;
    button.tabIndex = button.dataset.main === "true" ? 0 : -1;
    drawRole(button);
  }
  drawHistory();
  cancelAnimationFrame(pendingFrame);
  pendingFrame = requestAnimationFrame(() => drawThumbnails([...byId("map").querySelectorAll("button")]));
}

/** A few thumbnails per frame, so that the page stays responsive. */
function drawThumbnails(buttons) {
  const deadline = performance.now() + 8;
  while (buttons.length && performance.now() < deadline) drawThumbnail(buttons.shift());
  if (buttons.length) pendingFrame = requestAnimationFrame(() => drawThumbnails(buttons));
  else if (!byId("map").querySelector("button:not([data-drawn])")) performance.mark("map");
}

function build() {
  const kind = kindOf(state.kind);
  const wide = Math.max(1, ...headsOf(state.kind).map((head) => head.head + 1), ...kind.pruned.map(([, head]) => head + 1));
  const grid = byId("map");
  const byLayer = state.order === "layer";
  grid.style.setProperty("--columns", wide);
  document.documentElement.style.setProperty("--map", `${3.2 + 1.65 * wide}rem`);
  grid.classList.toggle("many", wide > 10);
  grid.classList.toggle("ordered", !byLayer);
  grid.setAttribute("aria-label", `${kind.label}: ${kind.heads.length} layers, ${headsOf(state.kind).length} heads`);
  fill(grid, ...(byLayer ? [numbersRow(wide), ...kind.heads.map((_, layer) => layerRow(kind, layer, wide))] : [orderedRow()]));
}

function numbersRow(wide) {
  const numbers = Array.from({ length: wide }, (_, head) => make("span", { role: "columnheader", title: `head ${head}` }, String(head)));
  return make("div", { role: "row", class: "numbers" }, make("span", { role: "columnheader" }, ""), ...numbers);
}

function layerRow(kind, layer, wide) {
  const cells = Array.from({ length: wide }, (_, number) => {
    const head = kind.heads[layer].find(({ head: id }) => id === number);
    if (head) return make("div", { role: "gridcell" }, headButton(head));
    const pruned = kind.pruned.some(([l, h]) => l === layer && h === number);
    const text = make("span", { class: "hidden" }, pruned ? "pruned" : "");
    return make("div", { role: "gridcell", class: pruned ? "pruned" : "", title: pruned ? `head ${number} was pruned` : "" }, text);
  });
  return make("div", { role: "row" }, make("span", { role: "rowheader", title: `layer ${layer}` }, String(layer)), ...cells);
}

/** By role or importance: one sequence of heads, each with its layer and number below. */
function orderedRow() {
  const letters = Object.values(facts.letters);
  const rank = (head) => (head.role === null ? letters.length : letters.indexOf(head.letter)); // frequent roles first
  const importance = (head) => head.importance ?? head.cost ?? 0;
  const sorts = { role: (a, b) => rank(a) - rank(b) || b.lift - a.lift, importance: (a, b) => importance(b) - importance(a) };
  const heads = [...headsOf(state.kind)].sort(sorts[state.order]);
  const cell = (head) => make("div", { role: "gridcell" }, headButton(head), make("small", {}, headKey(head)));
  return make("div", { role: "row" }, ...heads.map(cell));
}

/** The role of a head now, or at a recorded training step. */
function roleAtStep(head) {
  if (state.historyIndex === null) return [head.role, head.letter];
  return facts.history.roles[head.name]?.[state.historyIndex] ?? [null, null];
}

function drawRole(button) {
  const [role, letter] = roleAtStep(button.head);
  const badge = button.querySelector(".badge");
  badge.hidden = !role || !letter;
  badge.textContent = badge.hidden ? "" : letter;
  const description = state.historyIndex === null ? summary(button.head) : `${roleName({ role })}, at that step`;
  button.title = `layer ${button.head.layer}, head ${button.head.head}: ${description}`;
  button.setAttribute("aria-label", `${longName(state.kind, button.head)}: ${roleName(state.historyIndex === null ? button.head : { role })}${button.head.trained_to_align ? ", trained to align" : ""}`);
}

/** The slider through training. Only roles change; the weights stay those of now, so thumbnails fade. */
function drawHistory() {
  const { steps } = facts.history;
  byId("history").hidden = !steps.length;
  const currentLabel = facts.corpus ? "now" : "now, not measured";
  const label = state.historyIndex === null ? currentLabel : `at step ${steps[state.historyIndex].toLocaleString("en")}`;
  byId("history-step").max = steps.length;
  byId("history-step").value = state.historyIndex ?? steps.length;
  byId("history-step").setAttribute("aria-valuetext", label);
  byId("history-label").textContent = label;
  byId("map").classList.toggle("past", state.historyIndex !== null);
}

function headButton(head) {
  const bar = head.importance === null ? null : make("i", { class: "importance" }, make("i", {}));
  if (bar) bar.firstChild.style.width = `${100 * Math.min(1, Math.max(0, head.importance))}%`;
  const badge = make("b", { class: "badge" });
  const attributes = {
    type: "button",
    "aria-pressed": "false",
    "data-head": headKey(head),
  };
  const trained = head.trained_to_align ? make("b", { class: "badge trained" }, "T") : null;
  const element = make("button", attributes, make("canvas", { "aria-hidden": "true" }), badge, trained, bar);
  element.addEventListener("click", (event) => selectHead(headKey(head), event.shiftKey || event.ctrlKey || event.metaKey));
  element.head = head;
  return element;
}

/** The matrix downsampled to the pixels of the thumbnail, each the largest of its cells: a thin diagonal survives. */
function drawThumbnail(button) {
  const measure = isShared() ? "weight" : state.measure; // a measure of all heads is none of one head
  const values = displayedMatrix(state, button.head, measure);
  if (!values) return;
  const canvas = button.querySelector("canvas");
  const size = Math.max(12, Math.round(button.clientWidth - 4));
  const context = resizeCanvas(canvas, size, size);
  const pixels = Math.round(size * (window.devicePixelRatio || 1));
  const small = downsample(values, Math.min(pixels, values.rows), Math.min(pixels, values.columns));
  const image = document.createElement("canvas");
  image.width = small.columns;
  image.height = small.rows;
  const imageContext = image.getContext("2d");
  const imageData = imageContext.createImageData(small.columns, small.rows);
  const shadeOf = shader(measure);
  small.values.forEach((value, i) => {
    imageData.data.set(shadeOf(value), 4 * i);
    imageData.data[4 * i + 3] = 255;
  });
  imageContext.putImageData(imageData, 0, 0);
  context.imageSmoothingEnabled = false;
  context.drawImage(image, 0, 0, size, size);
  const box = { x: 0, y: 0, cell: size / values.columns, pitch: size / values.rows };
  drawUnknown(canvasPainter(context), box, values.rows, values.columns, unknownOf(state, button.head, measure));
  button.dataset.drawn = measure;
}

function downsample({ rows, columns, values }, high, wide) {
  const small = new Float32Array(high * wide).fill(NaN);
  const masked = maskOf(state);
  for (let r = 0; r < rows; r++) {
    for (let c = 0; c < columns; c++) {
      const target = Math.floor((r * high) / rows) * wide + Math.floor((c * wide) / columns);
      const value = masked(r, c) ? NaN : values[r * columns + c];
      if (Number.isNaN(small[target]) || Math.abs(value) > Math.abs(small[target])) small[target] = value;
    }
  }
  return { rows: high, columns: wide, values: small };
}
