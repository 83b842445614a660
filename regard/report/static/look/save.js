// The current state as a file: the same drawing by the other hand.

import { inks } from "./colour.js";
import { facts, measureOf, settled } from "./data.js";
import { figureFor } from "./figure.js";
import { byId } from "./page.js";
import { canvasPainter, fitted, svgPainter } from "./painter.js";
import { change, mainHead, state } from "./state.js";
import { longName, summary } from "./written.js";

const MARGIN = 20;
const CAPTION = 48;
const SCALE = 3; // pixels a point, enough for print

export async function saveSvg() {
  await ready();
  const sheet = plan();
  const painter = svgPainter();
  sheet.draw(shifted(painter));
  const text = painter.done(sheet.width, sheet.height, inks().paper, sheet.title);
  hand(new Blob([text], { type: "image/svg+xml" }), "svg");
}

export async function savePng() {
  await ready();
  const sheet = plan();
  const canvas = document.createElement("canvas");
  const scale = Math.min(SCALE, Math.sqrt(60e6 / (sheet.width * sheet.height))); // browsers refuse larger ones
  canvas.width = Math.ceil(sheet.width * scale);
  canvas.height = Math.ceil(sheet.height * scale);
  const context = canvas.getContext("2d");
  context.scale(scale, scale);
  context.fillStyle = inks().paper;
  context.fillRect(0, 0, sheet.width, sheet.height);
  sheet.draw(shifted(canvasPainter(context)));
  canvas.toBlob((blob) => hand(blob, "png"), "image/png");
}

async function ready() {
  if (state.view === "table") change({ view: "both" });
  await settled();
}

function plan() {
  const figure = figureFor(byId("stage").clientWidth - 8);
  const title = `${longName(state.kind, mainHead())}: ${measureOf(state.measure).label}`;
  return {
    title,
    width: figure.width + 2 * MARGIN,
    height: figure.height + 2 * MARGIN + CAPTION,
    draw(painter) {
      painter.text(0, 4, title, { fill: inks().ink, size: 15, weight: 700 });
      painter.text(0, 26, fitted(`${facts.run} · ${summary(mainHead())}`, 12, figure.width), { fill: inks().soft, size: 12 });
      figure.draw(shifted(painter, 0, CAPTION));
    },
  };
}

/** The same painter, its paper moved. */
function shifted(painter, dx = MARGIN, dy = MARGIN) {
  const move = (name) => (x, y, ...rest) => painter[name](x + dx, y + dy, ...rest);
  const curve = ([x1, y1], [x2, y2], how) => painter.curve([x1 + dx, y1 + dy], [x2 + dx, y2 + dy], how);
  return { rect: move("rect"), text: move("text"), cells: move("cells"), curve };
}

function hand(blob, ending) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = `${mainHead().name}.${state.measure}.${ending}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
