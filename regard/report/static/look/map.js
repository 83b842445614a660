// The map on the left: every head of a kind as a small picture, with its role's letter and its importance.

import { maskOf, shown } from "./axes.js";
import { shader } from "./colour.js";
import { facts, headsOf, kindOf, measureOf, placeOf } from "./data.js";
import { byId, fill, make, sharpen } from "./page.js";
import { choose, state } from "./state.js";
import { longName, roleName, summary } from "./written.js";

let built = "";
let waiting = 0;

export function drawMap() {
  const wanted = `${state.kind}/${state.order}`;
  if (built !== wanted) build();
  built = wanted;
  for (const button of byId("map").querySelectorAll("button")) {
    const chosen = state.heads.indexOf(button.dataset.place);
    button.setAttribute("aria-pressed", chosen >= 0);
    button.dataset.main = chosen >= 0 && chosen === state.heads.length - 1;
    button.tabIndex = button.dataset.main === "true" ? 0 : -1;
    drawRole(button);
  }
  drawTime();
  cancelAnimationFrame(waiting);
  waiting = requestAnimationFrame(() => drawThumbs([...byId("map").querySelectorAll("button")]));
}

/** A few small pictures a frame, so that the page never stops. */
function drawThumbs(buttons) {
  const until = performance.now() + 8;
  while (buttons.length && performance.now() < until) drawThumb(buttons.shift());
  if (buttons.length) waiting = requestAnimationFrame(() => drawThumbs(buttons));
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
    const head = kind.heads[layer].find((each) => each.head === number);
    if (head) return make("div", { role: "gridcell" }, button(head));
    const gone = kind.pruned.some(([l, h]) => l === layer && h === number);
    const told = make("span", { class: "hidden" }, gone ? "removed" : "");
    return make("div", { role: "gridcell", class: gone ? "gone" : "", title: gone ? `head ${number} was removed` : "" }, told);
  });
  return make("div", { role: "row" }, make("span", { role: "rowheader", title: `layer ${layer}` }, String(layer)), ...cells);
}

/** By role or importance: one run of heads, each with its place written below. */
function orderedRow() {
  const letters = Object.values(facts.letters);
  const rank = (head) => (head.role === null ? letters.length : letters.indexOf(head.letter)); // frequent roles first
  const worth = (head) => head.importance ?? head.cost ?? 0;
  const sorts = { role: (a, b) => rank(a) - rank(b) || b.lift - a.lift, importance: (a, b) => worth(b) - worth(a) };
  const heads = [...headsOf(state.kind)].sort(sorts[state.order]);
  const cell = (head) => make("div", { role: "gridcell" }, button(head), make("small", {}, placeOf(head)));
  return make("div", { role: "row" }, ...heads.map(cell));
}

/** The role of a head now, or at a moment of its training. */
function roleAt(head) {
  if (state.moment === null) return [head.role, head.letter];
  return facts.history.roles[head.name]?.[state.moment] ?? [null, null];
}

function drawRole(button) {
  const [role, letter] = roleAt(button.head);
  const badge = button.querySelector(".badge");
  badge.hidden = !role || !letter;
  badge.textContent = badge.hidden ? "" : letter;
  const told = state.moment === null ? summary(button.head) : `${roleName({ role })}, at that step`;
  button.title = `layer ${button.head.layer}, head ${button.head.head}: ${told}`;
  button.setAttribute("aria-label", `${longName(state.kind, button.head)}: ${roleName(state.moment === null ? button.head : { role })}`);
}

/** The slider through training; what is looked at stays that of now, so it fades. */
function drawTime() {
  const { steps } = facts.history;
  byId("time").hidden = !steps.length;
  const now = facts.corpus ? "now" : "now, not measured";
  const when = state.moment === null ? now : `at step ${steps[state.moment].toLocaleString("en")}`;
  byId("moment").max = steps.length;
  byId("moment").value = state.moment ?? steps.length;
  byId("moment").setAttribute("aria-valuetext", when);
  byId("when").textContent = when;
  byId("map").classList.toggle("past", state.moment !== null);
}

function button(head) {
  const worth = head.importance === null ? null : make("i", { class: "worth" }, make("i", {}));
  if (worth) worth.firstChild.style.width = `${100 * Math.min(1, Math.max(0, head.importance))}%`;
  const badge = make("b", { class: "badge" });
  const given = {
    type: "button",
    "aria-pressed": "false",
    "data-place": placeOf(head),
  };
  const made = make("button", given, make("canvas", { "aria-hidden": "true" }), badge, worth);
  made.addEventListener("click", (event) => choose(placeOf(head), event.shiftKey || event.ctrlKey || event.metaKey));
  made.head = head;
  return made;
}

/** The matrix in as many pixels as there are, each the strongest of its cells: a thin diagonal survives. */
function drawThumb(button) {
  const values = shown(state, button.head);
  if (!values) return;
  const canvas = button.querySelector("canvas");
  const size = Math.max(12, Math.round(button.clientWidth - 4));
  const context = sharpen(canvas, size, size);
  const fine = Math.round(size * (window.devicePixelRatio || 1));
  const small = shrunk(values, Math.min(fine, values.rows), Math.min(fine, values.columns));
  const image = document.createElement("canvas");
  image.width = small.columns;
  image.height = small.rows;
  const pen = image.getContext("2d");
  const pixels = pen.createImageData(small.columns, small.rows);
  const shadeOf = shader();
  small.values.forEach((value, i) => {
    pixels.data.set(shadeOf(value), 4 * i);
    pixels.data[4 * i + 3] = 255;
  });
  pen.putImageData(pixels, 0, 0);
  context.imageSmoothingEnabled = false;
  context.drawImage(image, 0, 0, size, size);
  button.dataset.drawn = measureOf(state.measure).name;
}

function shrunk({ rows, columns, values }, high, wide) {
  const small = new Float32Array(high * wide).fill(NaN);
  const masked = maskOf(state);
  for (let r = 0; r < rows; r++) {
    for (let c = 0; c < columns; c++) {
      const at = Math.floor((r * high) / rows) * wide + Math.floor((c * wide) / columns);
      const value = masked(r, c) ? NaN : values[r * columns + c];
      if (Number.isNaN(small[at]) || Math.abs(value) > Math.abs(small[at])) small[at] = value;
    }
  }
  return { rows: high, columns: wide, values: small };
}
