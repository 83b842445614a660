// The center of the page: the figure, and how it reacts to the pointer.

import { axesOf } from "./axes.js";
import { figureFor } from "./figure.js";
import { byId, resizeCanvas } from "./page.js";
import { canvasPainter } from "./painter.js";
import { hover, pin, point, state } from "./state.js";
import { drawTable } from "./table.js";

let currentFigure = null; // the figure on the canvas

export function drawCenter({ pointing }) {
  const table = state.view === "table";
  byId("stage").hidden = table;
  byId("matrix-table").hidden = !table;
  if (table) {
    if (!pointing) drawTable(byId("matrix-table"));
    return;
  }
  currentFigure = figureFor(byId("stage").clientWidth - 8);
  const context = resizeCanvas(byId("picture"), currentFigure.width, currentFigure.height);
  currentFigure.draw(canvasPainter(context));
  const { x, y, cell, pitch } = currentFigure.origin;
  Object.assign(byId("picture").dataset, { x, y, cell, pitch }); // the position of the first cell, for tests
}

export function watchPointer() {
  const picture = byId("picture");
  picture.addEventListener("pointermove", (event) => {
    const tokens = tokensAt(event);
    picture.style.cursor = tokens ? "pointer" : "default";
    point(tokens?.q ?? null, tokens?.k ?? null);
  });
  picture.addEventListener("pointerleave", () => point(null, null));
  picture.addEventListener("click", (event) => {
    const tokens = tokensAt(event);
    if (tokens) pin(tokens.q, tokens.k);
    byId("stage").focus({ preventScroll: true });
  });
  // Touch has no hover: pointerup ends the preview; the click of the tap pins.
  picture.addEventListener("pointerup", (event) => event.pointerType === "touch" && hover.q !== null && point(null, null));
}

/** The tokens {q, k} at the pointer, or null. */
function tokensAt(event) {
  if (!currentFigure) return null;
  const frame = byId("picture").getBoundingClientRect();
  const hit = currentFigure.hit(event.clientX - frame.left, event.clientY - frame.top);
  if (!hit) return null;
  const axes = axesOf(state);
  return { q: axes.rows.entries[hit.row]?.parts[0] ?? null, k: axes.columns.entries[hit.column]?.parts[0] ?? null };
}
