// Where the page begins: reads the address, wires the controls, and draws whenever something changes.

import { shown } from "./axes.js";
import { drawCentre, watchPointer } from "./centre.js";
import { facts, measureOf, whenRead } from "./data.js";
import { watchKeys } from "./keys.js";
import { drawMap } from "./map.js";
import { byId, fill, make } from "./page.js";
import { drawReadout } from "./readout.js";
import { savePng, saveSvg } from "./save.js";
import { change, mainHead, readAddress, state, whenChanged } from "./state.js";
import { drawWhy } from "./why.js";
import { dark } from "./colour.js";

const night = matchMedia("(prefers-color-scheme: dark)");
const paper = matchMedia("print");
let printing = false;
let asked = null; // what the next frame has to draw; many changes make one drawing

function redraw({ pointing }) {
  const first = asked === null;
  asked = { pointing: pointing && (asked?.pointing ?? true) };
  if (first) requestAnimationFrame(frame);
}

function frame() {
  const how = asked ?? { pointing: false };
  asked = null;
  drawTheme();
  drawControls();
  drawReadout();
  drawCentre(how);
  drawWhy(how);
  if (!how.pointing) drawMap();
  document.body.dataset.ready = "yes";
  if (shown(state, mainHead())) once("picture");
}

/** As asked for, else as the system has it; but paper is white, whatever the screen is. */
function drawTheme() {
  const wished = state.theme === "auto" ? (night.matches ? "dark" : "light") : state.theme;
  document.documentElement.dataset.theme = printing || paper.matches ? "light" : wished;
}

function drawControls() {
  for (const tab of all("[data-kind]")) tab.setAttribute("aria-selected", tab.dataset.kind === state.kind);
  for (const button of all("[data-view]")) button.setAttribute("aria-pressed", button.dataset.view === state.view);
  for (const box of all("[data-switch]")) box.checked = state[box.dataset.switch];
  byId("order").value = state.order;
  const menu = byId("measure");
  const here = facts.measures.filter((measure) => measure.menu && measure.kinds[state.kind]);
  const names = here.map(({ name }) => name).join();
  if (menu.dataset.names !== names) fill(menu, ...here.map(({ name, label }) => make("option", { value: name }, label)));
  menu.dataset.names = names;
  menu.value = state.measure;
  menu.title = measureOf(state.measure).help;
  byId("told").textContent = `${measureOf(state.measure).help} ${measureOf(state.measure).kinds[state.kind].told}`;
}

/** Moments that a benchmark asks for. */
function once(name) {
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
  byId("moment").addEventListener("input", (event) => change({ moment: Number(event.target.value) }));
  byId("order").addEventListener("change", (event) => change({ order: event.target.value }));
  byId("theme").addEventListener("click", () => change({ theme: dark() ? "light" : "dark" }));
  byId("svg").addEventListener("click", saveSvg);
  byId("png").addEventListener("click", savePng);
  byId("helpbutton").addEventListener("click", () => byId("help").showModal());
  for (const [role, letter] of Object.entries(facts.letters)) {
    byId("letters").append(make("li", {}, make("b", { class: "badge" }, letter), ` ${role}`));
  }
}

function tab({ name, label, heads }, i) {
  const onclick = () => change({ kind: name, q: null, k: null, pins: [] });
  const given = { type: "button", role: "tab", "data-kind": name, title: `key ${i + 1}`, onclick };
  return make("button", given, label, " ", make("small", {}, `${heads.flat().length} heads`));
}

build();
watchPointer();
watchKeys();
whenChanged(redraw);
whenRead(() => redraw({ pointing: false }));
new ResizeObserver(() => redraw({ pointing: false })).observe(byId("stage"));
night.addEventListener("change", () => redraw({ pointing: false }));
window.addEventListener("hashchange", readAddress);
for (const [event, now] of [["beforeprint", true], ["afterprint", false]]) {
  window.addEventListener(event, () => {
    printing = now;
    asked ??= { pointing: false };
    frame(); // at once: the printer does not wait for the next frame
  });
}
readAddress();
