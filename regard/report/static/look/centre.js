// The middle of the page: the picture, and what the pointer does in it.

import { axesOf } from "./axes.js";
import { figureFor } from "./figure.js";
import { byId, sharpen } from "./page.js";
import { canvasPainter } from "./painter.js";
import { hover, pin, point, state } from "./state.js";
import { fillTable } from "./table.js";

let now = null; // the figure that is on the canvas

export function drawCentre({ pointing }) {
  const table = state.view === "table";
  byId("stage").hidden = table;
  byId("sheet").hidden = !table;
  if (table) {
    if (!pointing) fillTable(byId("sheet"));
    return;
  }
  now = figureFor(byId("stage").clientWidth - 8);
  const context = sharpen(byId("picture"), now.width, now.height);
  now.draw(canvasPainter(context));
  const { x, y, cell, pitch } = now.origin;
  Object.assign(byId("picture").dataset, { x, y, cell, pitch }); // where the first cell lies, for those who test the page
}

export function watchPointer() {
  const picture = byId("picture");
  picture.addEventListener("pointermove", (event) => {
    const found = under(event);
    picture.style.cursor = found ? "pointer" : "default";
    point(found?.q ?? null, found?.k ?? null);
  });
  picture.addEventListener("pointerleave", () => point(null, null));
  picture.addEventListener("click", (event) => {
    const found = under(event);
    if (found) pin(found.q, found.k);
    byId("stage").focus({ preventScroll: true });
  });
  // A finger has no hover: lifting it ends the preview, the tap's click has pinned by then.
  picture.addEventListener("pointerup", (event) => event.pointerType === "touch" && hover.q !== null && point(null, null));
}

/** What lies under the pointer, as pieces. */
function under(event) {
  if (!now) return null;
  const frame = byId("picture").getBoundingClientRect();
  const found = now.hit(event.clientX - frame.left, event.clientY - frame.top);
  if (!found) return null;
  const axes = axesOf(state);
  return { q: axes.rows.entries[found.row]?.parts[0] ?? null, k: axes.columns.entries[found.column]?.parts[0] ?? null };
}
