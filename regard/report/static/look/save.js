// Saves the current figure as SVG or PNG.

import { themeColors } from "./color.js";
import { allLoaded, facts, measureOf } from "./data.js";
import { figureFor } from "./figure.js";
import { byId } from "./page.js";
import { canvasPainter, svgPainter, truncate } from "./painter.js";
import { change, isShared, mainHead, state } from "./state.js";
import { figureSummary, figureTitle } from "./format.js";

const MARGIN = 20;
const CAPTION = 48;
const SCALE = 3; // pixels per point, enough for print

export async function saveSvg() {
  await ready();
  const layout = exportLayout();
  const painter = svgPainter();
  layout.draw(translated(painter));
  const text = painter.finish(layout.width, layout.height, themeColors().paper, layout.title);
  download(new Blob([text], { type: "image/svg+xml" }), "svg");
}

export async function savePng() {
  await ready();
  const layout = exportLayout();
  const canvas = document.createElement("canvas");
  const scale = Math.min(SCALE, Math.sqrt(60e6 / (layout.width * layout.height))); // browsers refuse larger canvases
  canvas.width = Math.ceil(layout.width * scale);
  canvas.height = Math.ceil(layout.height * scale);
  const context = canvas.getContext("2d");
  context.scale(scale, scale);
  context.fillStyle = themeColors().paper;
  context.fillRect(0, 0, layout.width, layout.height);
  layout.draw(translated(canvasPainter(context)));
  canvas.toBlob((blob) => download(blob, "png"), "image/png");
}

async function ready() {
  if (state.view === "table") change({ view: "both" });
  await allLoaded();
}

function exportLayout() {
  const figure = figureFor(byId("stage").clientWidth - 8);
  const title = `${figureTitle(state.kind, mainHead())}: ${measureOf(state.measure).label}`;
  return {
    title,
    width: figure.width + 2 * MARGIN,
    height: figure.height + 2 * MARGIN + CAPTION,
    draw(painter) {
      painter.text(0, 4, title, { fill: themeColors().ink, size: 15, weight: 700 });
      painter.text(0, 26, truncate([facts.run, figureSummary(mainHead())].filter(Boolean).join(" · "), 12, figure.width), { fill: themeColors().soft, size: 12 });
      figure.draw(translated(painter, 0, CAPTION));
    },
  };
}

/** The same painter with its origin moved. */
function translated(painter, dx = MARGIN, dy = MARGIN) {
  const move = (name) => (x, y, ...rest) => painter[name](x + dx, y + dy, ...rest);
  const curve = ([x1, y1], [x2, y2], style) => painter.curve([x1 + dx, y1 + dy], [x2 + dx, y2 + dy], style);
  return { rect: move("rect"), text: move("text"), cells: move("cells"), hatch: move("hatch"), curve };
}

function download(blob, extension) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = `${isShared() ? state.kind : mainHead().name}.${state.measure}.${extension}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
