// Two painters with one interface: canvas for the screen, SVG for files.

export const FONT = 'system-ui, -apple-system, "Segoe UI", "Liberation Sans", Arial, sans-serif';

const measuringContext = document.createElement("canvas").getContext("2d");
const widths = new Map();
const bitmaps = new WeakMap(); // by the values they show: moving the pointer changes none of them

/** Width of a text in pixels. */
export function widthOf(text, size, weight = 400) {
  const font = `${weight} ${size}px ${FONT}`;
  const name = `${font}/${text}`;
  if (!widths.has(name)) {
    measuringContext.font = font;
    widths.set(name, measuringContext.measureText(text).width);
  }
  return widths.get(name);
}

/** A text truncated to a width, with an ellipsis; grapheme clusters stay whole. */
export function truncate(text, size, width, weight = 400) {
  if (widthOf(text, size, weight) <= width) return text;
  const letters = [...new Intl.Segmenter().segment(text)].map((part) => part.segment);
  while (letters.length > 1 && widthOf(`${letters.join("")}…`, size, weight) > width) letters.pop();
  return `${letters.join("")}…`;
}

/** Draws on a canvas. */
export function canvasPainter(context) {
  return {
    rect(x, y, width, height, { fill, stroke, line = 1, alpha = 1, radius = 0 }) {
      context.globalAlpha = alpha;
      context.beginPath();
      context.roundRect(x, y, width, height, radius);
      if (fill) paint(context, "fill", fill);
      if (stroke) paint(context, "stroke", stroke, line);
      context.globalAlpha = 1;
    },
    curve([x1, y1], [x2, y2], { stroke, line, alpha = 1, dash = [] }) {
      const middle = (x1 + x2) / 2;
      context.globalAlpha = alpha;
      context.setLineDash(dash);
      context.beginPath();
      context.moveTo(x1, y1);
      context.bezierCurveTo(middle, y1, middle, y2, x2, y2);
      paint(context, "stroke", stroke, line);
      context.setLineDash([]);
      context.globalAlpha = 1;
    },
    text(x, y, text, { fill, size, weight = 400, align = "left", angle = 0 }) {
      context.save();
      context.translate(x, y);
      context.rotate((angle * Math.PI) / 180);
      context.font = `${weight} ${size}px ${FONT}`;
      context.textAlign = align;
      context.textBaseline = "middle";
      context.fillStyle = fill;
      context.fillText(text, 0, 0);
      context.restore();
    },
    hatch(x, y, width, height, { stroke }) {
      context.beginPath();
      for (const [x1, y1, x2, y2] of hatchSegments(x, y, width, height)) {
        context.moveTo(x1, y1);
        context.lineTo(x2, y2);
      }
      paint(context, "stroke", stroke, 1);
    },
    // A bitmap with one pixel per cell, scaled up: as fast for 128 x 128 as for 4 x 4.
    cells(x, y, width, height, { rows, columns, color, values, cacheKey }) {
      context.imageSmoothingEnabled = false;
      const entry = values && bitmaps.get(values);
      const bitmap = entry && entry.cacheKey === cacheKey ? entry.bitmap : makeBitmap(rows, columns, color);
      if (values) bitmaps.set(values, { cacheKey, bitmap });
      context.drawImage(bitmap, x, y, width, height);
    },
  };
}

/** Diagonal lines that fill a rectangle, as segments [x1, y1, x2, y2]; neighboring rectangles continue each other. */
function hatchSegments(x, y, width, height, gap = 6) {
  const segments = [];
  for (let sum = Math.ceil((x + y) / gap) * gap; sum <= x + width + y + height; sum += gap) {
    const [from, to] = [Math.max(x, sum - y - height), Math.min(x + width, sum - y)];
    if (from < to) segments.push([from, sum - from, to, sum - to]);
  }
  return segments;
}

/** Collects SVG elements; `finish` returns the file. */
export function svgPainter() {
  const parts = [];
  const add = (name, attributes, inner = "") => {
    const entries = Object.entries(attributes).filter(([, value]) => value !== undefined && value !== "");
    const attributeText = entries.map(([key, value]) => `${key}="${escapeXml(roundToHundredths(value))}"`).join(" ");
    parts.push(`<${name} ${attributeText}${inner === "" ? "/>" : `>${inner}</${name}>`}`);
  };
  return {
    rect(x, y, width, height, { fill = "none", stroke, line = 1, alpha = 1, radius = 0 }) {
      const opacity = alpha < 1 ? alpha : "";
      add("rect", { x, y, width, height, fill, stroke, "stroke-width": stroke && line, opacity, rx: radius || "" });
    },
    curve([x1, y1], [x2, y2], { stroke, line, alpha = 1, dash = [] }) {
      const m = roundToHundredths((x1 + x2) / 2);
      const d = `M${roundToHundredths(x1)} ${roundToHundredths(y1)}C${m} ${roundToHundredths(y1)} ${m} ${roundToHundredths(y2)} ${roundToHundredths(x2)} ${roundToHundredths(y2)}`;
      const dashes = dash.join(" ");
      add("path", { d, fill: "none", stroke, "stroke-width": line, opacity: alpha, "stroke-dasharray": dashes });
    },
    text(x, y, text, { fill, size, weight = 400, align = "left", angle = 0 }) {
      const anchor = { left: "", center: "middle", right: "end" }[align];
      const rotation = angle ? `rotate(${angle} ${roundToHundredths(x)} ${roundToHundredths(y)})` : "";
      const font = { "font-size": size, "font-weight": weight === 400 ? "" : weight };
      const alignment = { "text-anchor": anchor, "dominant-baseline": "central", transform: rotation };
      add("text", { x, y, fill, ...font, ...alignment }, escapeXml(text));
    },
    hatch(x, y, width, height, { stroke }) {
      const path = hatchSegments(x, y, width, height).map((segment) => segment.map(roundToHundredths));
      const d = path.map(([x1, y1, x2, y2]) => `M${x1} ${y1}L${x2} ${y2}`).join("");
      if (d) add("path", { d, fill: "none", stroke });
    },
    cells(x, y, width, height, { rows, columns, color }) {
      const [w, h] = [width / columns, height / rows];
      parts.push('<g shape-rendering="crispEdges">'); // else the background shows between neighbors
      for (let r = 0; r < rows; r++) {
        for (let c = 0; c < columns; c++) {
          const hex = color(r, c).map((channel) => channel.toString(16).padStart(2, "0")).join("");
          add("rect", { x: x + c * w, y: y + r * h, width: w, height: h, fill: `#${hex}` });
        }
      }
      parts.push("</g>");
    },
    finish(width, height, background, title) {
      const [wide, high] = [Math.ceil(width), Math.ceil(height)];
      const size = `width="${wide}" height="${high}" viewBox="0 0 ${wide} ${high}"`;
      return [
        '<?xml version="1.0" encoding="UTF-8"?>',
        `<svg xmlns="http://www.w3.org/2000/svg" ${size} font-family="${escapeXml(FONT)}">`,
        `<title>${escapeXml(title)}</title>`,
        `<rect width="100%" height="100%" fill="${background}"/>`,
        ...parts,
        "</svg>\n",
      ].join("\n");
    },
  };
}

/** A matrix as a bitmap, one pixel per cell. */
function makeBitmap(rows, columns, color) {
  const bitmap = document.createElement("canvas");
  bitmap.width = columns;
  bitmap.height = rows;
  const context = bitmap.getContext("2d");
  const image = context.createImageData(columns, rows);
  for (let r = 0; r < rows; r++) {
    for (let c = 0; c < columns; c++) {
      image.data.set(color(r, c), 4 * (r * columns + c));
      image.data[4 * (r * columns + c) + 3] = 255;
    }
  }
  context.putImageData(image, 0, 0);
  return bitmap;
}

function paint(context, operation, color, line = 1) {
  context[`${operation}Style`] = color;
  context.lineWidth = line;
  context[operation]();
}

function roundToHundredths(value) {
  return typeof value === "number" ? Math.round(value * 100) / 100 : value;
}

function escapeXml(text) {
  const plain = String(text).replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ud800-\udfff\ufffe\uffff]/gu, "\ufffd");
  return plain.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
