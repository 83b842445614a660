// The entry point: reads the address, connects the controls, and redraws after every change.

import { describeUnknown, displayedMatrix } from "./axes.js";
import { drawCenter, watchPointer } from "./center.js";
import { facts, measureOf, onLoaded } from "./data.js";
import { watchKeys } from "./keys.js";
import { drawMap } from "./map.js";
import { byId, fill, make } from "./page.js";
import { drawReadout } from "./readout.js";
import { savePng, saveSvg } from "./save.js";
import { change, mainHead, onChanged, readAddress, state } from "./state.js";
import { drawExplanation } from "./explain.js";
import { dark } from "./color.js";

const systemDark = matchMedia("(prefers-color-scheme: dark)");
const printMedia = matchMedia("print");
let printing = false;
let pendingFrame = null; // what the next frame draws; several changes share one frame

function redraw({ pointing }) {
  const first = pendingFrame === null;
  pendingFrame = { pointing: pointing && (pendingFrame?.pointing ?? true) };
  if (first) requestAnimationFrame(frame);
}

function frame() {
  const event = pendingFrame ?? { pointing: false };
  pendingFrame = null;
  drawTheme();
  drawControls();
  drawReadout();
  drawCenter(event);
  drawExplanation(event);
  if (!event.pointing) drawMap();
  document.body.dataset.ready = "yes";
  if (displayedMatrix(state, mainHead())) markOnce("picture");
}

/** The chosen theme, else that of the system; print is always light. */
function drawTheme() {
  const theme = state.theme === "auto" ? (systemDark.matches ? "dark" : "light") : state.theme;
  document.documentElement.dataset.theme = printing || printMedia.matches ? "light" : theme;
}

function drawControls() {
  for (const tab of all("[data-kind]")) tab.setAttribute("aria-selected", tab.dataset.kind === state.kind);
  for (const button of all("[data-view]")) button.setAttribute("aria-pressed", button.dataset.view === state.view);
  for (const box of all("[data-switch]")) box.checked = state[box.dataset.switch];
  byId("order").value = state.order;
  const menu = byId("measure");
  const available = facts.measures.filter((measure) => measure.menu && measure.kinds[state.kind]);
  const names = available.map(({ name }) => name).join();
  if (menu.dataset.names !== names) fill(menu, ...available.map(({ name, label }) => make("option", { value: name }, label)));
  menu.dataset.names = names;
  menu.value = state.measure;
  menu.title = measureOf(state.measure).help;
  const unknown = facts.terms.includes(state.measure) ? describeUnknown(state, mainHead()) : "";
  const texts = [measureOf(state.measure).help, measureOf(state.measure).kinds[state.kind].precision, unknown && `Hatched: ${unknown}.`];
  byId("measure-help").textContent = texts.filter(Boolean).join(" ");
}

/** A performance mark, set once; the benchmark reads it. */
function markOnce(name) {
  if (!performance.getEntriesByName(name).length) performance.mark(name);
}

function all(selector) {
  return document.querySelectorAll(selector);
}

function build() {
  fill(byId("kinds"), ...facts.kinds.map(tab));
  for (const button of all("[data-view]")) {
    button.addEventListener("click", () => change({ view: button.dataset.view }));
  }
  for (const box of all("[data-switch]")) {
    box.addEventListener("change", () => change({ [box.dataset.switch]: box.checked }));
  }
  byId("measure").addEventListener("change", (event) => change({ measure: event.target.value }));
  byId("history-step").addEventListener("input", (event) => change({ historyIndex: Number(event.target.value) }));
  byId("order").addEventListener("change", (event) => change({ order: event.target.value }));
  byId("theme").addEventListener("click", () => change({ theme: dark() ? "light" : "dark" }));
  byId("svg").addEventListener("click", saveSvg);
  byId("png").addEventListener("click", savePng);
  byId("helpbutton").addEventListener("click", () => byId("help").showModal());
  const anyHead = (holds) => facts.kinds.some(({ heads }) => heads.flat().some(holds));
  byId("trained-note").hidden = !anyHead((head) => head.trained_to_align);
  byId("importance-note").hidden = !anyHead((head) => head.importance !== null);
  for (const [role, letter] of Object.entries(facts.letters)) {
    byId("letters").append(make("li", {}, make("b", { class: "badge" }, letter), ` ${role}`));
  }
}

function tab({ name, label, heads }, i) {
  const onclick = () => change({ kind: name, q: null, k: null, pins: [] });
  const attributes = { type: "button", role: "tab", "data-kind": name, title: `key ${i + 1}`, onclick };
  return make("button", attributes, label, " ", make("small", {}, `${heads.flat().length} heads`));
}

build();
watchPointer();
watchKeys();
onChanged(redraw);
onLoaded(() => redraw({ pointing: false }));
new ResizeObserver(() => redraw({ pointing: false })).observe(byId("stage"));
systemDark.addEventListener("change", () => redraw({ pointing: false }));
window.addEventListener("hashchange", readAddress);
for (const [event, isPrinting] of [["beforeprint", true], ["afterprint", false]]) {
  window.addEventListener(event, () => {
    printing = isPrinting;
    pendingFrame ??= { pointing: false };
    frame(); // at once: printing does not wait for the next frame
  });
}
readAddress();
