// Two hands that draw the same things: one on a canvas for the screen, one in SVG for a paper.

export const FONT = 'system-ui, -apple-system, "Segoe UI", "Liberation Sans", Arial, sans-serif';

const pen = document.createElement("canvas").getContext("2d");
const widths = new Map();
const pictures = new WeakMap(); // by the numbers they show: a pointer that moves changes none of them

/** Width of a text in pixels. */
export function widthOf(text, size, weight = 400) {
  const font = `${weight} ${size}px ${FONT}`;
  const name = `${font}/${text}`;
  if (!widths.has(name)) {
    pen.font = font;
    widths.set(name, pen.measureText(text).width);
  }
  return widths.get(name);
}

/** A text cut to a width, with an ellipsis; letters that belong together stay together. */
export function fitted(text, size, width, weight = 400) {
  if (widthOf(text, size, weight) <= width) return text;
  const letters = [...new Intl.Segmenter().segment(text)].map((part) => part.segment);
  while (letters.length > 1 && widthOf(`${letters.join("")}…`, size, weight) > width) letters.pop();
  return `${letters.join("")}…`;
}

/** The canvas's hand. */
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
    // A bitmap of one pixel a cell, stretched: as quick for 128 x 128 as for 4 x 4.
    cells(x, y, width, height, { rows, columns, colour, values, way }) {
      context.imageSmoothingEnabled = false;
      const known = values && pictures.get(values);
      const picture = known && known.way === way ? known.picture : bitmap(rows, columns, colour);
      if (values) pictures.set(values, { way, picture });
      context.drawImage(picture, x, y, width, height);
    },
  };
}

/** SVG's hand: collects elements, `done` writes the file. */
export function svgPainter() {
  const parts = [];
  const add = (name, attributes, inner = "") => {
    const given = Object.entries(attributes).filter(([, value]) => value !== undefined && value !== "");
    const written = given.map(([key, value]) => `${key}="${escaped(rounded(value))}"`).join(" ");
    parts.push(`<${name} ${written}${inner === "" ? "/>" : `>${inner}</${name}>`}`);
  };
  return {
    rect(x, y, width, height, { fill = "none", stroke, line = 1, alpha = 1, radius = 0 }) {
      const opacity = alpha < 1 ? alpha : "";
      add("rect", { x, y, width, height, fill, stroke, "stroke-width": stroke && line, opacity, rx: radius || "" });
    },
    curve([x1, y1], [x2, y2], { stroke, line, alpha = 1, dash = [] }) {
      const m = rounded((x1 + x2) / 2);
      const d = `M${rounded(x1)} ${rounded(y1)}C${m} ${rounded(y1)} ${m} ${rounded(y2)} ${rounded(x2)} ${rounded(y2)}`;
      const dashes = dash.join(" ");
      add("path", { d, fill: "none", stroke, "stroke-width": line, opacity: alpha, "stroke-dasharray": dashes });
    },
    text(x, y, text, { fill, size, weight = 400, align = "left", angle = 0 }) {
      const anchor = { left: "", center: "middle", right: "end" }[align];
      const turn = angle ? `rotate(${angle} ${rounded(x)} ${rounded(y)})` : "";
      const font = { "font-size": size, "font-weight": weight === 400 ? "" : weight };
      const place = { "text-anchor": anchor, "dominant-baseline": "central", transform: turn };
      add("text", { x, y, fill, ...font, ...place }, escaped(text));
    },
    cells(x, y, width, height, { rows, columns, colour }) {
      const [w, h] = [width / columns, height / rows];
      parts.push('<g shape-rendering="crispEdges">'); // neighbours would else let the paper shine through
      for (let r = 0; r < rows; r++) {
        for (let c = 0; c < columns; c++) {
          const hex = colour(r, c).map((channel) => channel.toString(16).padStart(2, "0")).join("");
          add("rect", { x: x + c * w, y: y + r * h, width: w, height: h, fill: `#${hex}` });
        }
      }
      parts.push("</g>");
    },
    done(width, height, ground, title) {
      const [wide, high] = [Math.ceil(width), Math.ceil(height)];
      const size = `width="${wide}" height="${high}" viewBox="0 0 ${wide} ${high}"`;
      return [
        '<?xml version="1.0" encoding="UTF-8"?>',
        `<svg xmlns="http://www.w3.org/2000/svg" ${size} font-family="${escaped(FONT)}">`,
        `<title>${escaped(title)}</title>`,
        `<rect width="100%" height="100%" fill="${ground}"/>`,
        ...parts,
        "</svg>\n",
      ].join("\n");
    },
  };
}

/** A small picture of a matrix, a pixel a cell. */
function bitmap(rows, columns, colour) {
  const picture = document.createElement("canvas");
  picture.width = columns;
  picture.height = rows;
  const context = picture.getContext("2d");
  const image = context.createImageData(columns, rows);
  for (let r = 0; r < rows; r++) {
    for (let c = 0; c < columns; c++) {
      image.data.set(colour(r, c), 4 * (r * columns + c));
      image.data[4 * (r * columns + c) + 3] = 255;
    }
  }
  context.putImageData(image, 0, 0);
  return picture;
}

function paint(context, way, colour, line = 1) {
  context[`${way}Style`] = colour;
  context.lineWidth = line;
  context[way]();
}

function rounded(value) {
  return typeof value === "number" ? Math.round(value * 100) / 100 : value;
}

function escaped(text) {
  const plain = String(text).replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ud800-\udfff\ufffe\uffff]/gu, "\ufffd");
  return plain.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
