// A chart of one or two curves over steps, redrawn as they grow; its values are read out by pointer, touch and keys.

const NAMESPACE = "http://www.w3.org/2000/svg";
const [WIDTH, HEIGHT, LEFT, BOTTOM, TOP] = [420, 210, 44, 22, 8];

function element(name, attributes, text = "") {
  const made = document.createElementNS(NAMESPACE, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== "") made.textContent = text;
  return made;
}

export function formatNumber(value) {
  if (value === null || value === undefined) return "–";
  if (value !== 0 && Math.abs(value) < 0.001) return value.toExponential(2);
  return value.toLocaleString("en", { maximumSignificantDigits: 4 });
}

/** Round numbers between two ends, about `count` of them. */
export function ticks(low, high, count) {
  const raw = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((digit) => digit * power).find((size) => size >= raw);
  const values = [];
  for (let n = Math.ceil(low / step); n * step <= high; n += 1) values.push(n * step);
  return values;
}

/** The ends of an axis of values; the first steps of a loss, which fall steeply, may lie above it. */
function ends(series) {
  const late = series.flatMap(({ points }) => points.slice(Math.floor(points.length / 20)).map((point) => point[1]));
  const values = late.filter((value) => value !== null);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const margin = 0.06 * (high - low) || Math.abs(high) * 0.1 || 1;
  return [low >= 0 ? Math.max(0, low - margin) : low - margin, high + margin];
}

function pathOf(points, x, y) {
  let pen = "M";
  const parts = [];
  for (const [step, value] of points) {
    if (value === null) pen = "M";
    else {
      parts.push(`${pen}${x(step).toFixed(1)},${y(value).toFixed(1)}`);
      pen = "L";
    }
  }
  return parts.join("");
}

export class Curve {
  constructor(title, names) {
    this.figure = document.createElement("figure");
    this.figure.className = "curve";
    this.figure.tabIndex = 0;
    this.figure.setAttribute("role", "group");
    this.figure.setAttribute("aria-label", title);
    const caption = document.createElement("figcaption");
    caption.textContent = title;
    this.svg = element("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": title });
    this.values = document.createElement("div");
    this.values.className = "values";
    this.values.setAttribute("aria-live", "polite");
    this.figure.append(caption, this.svg, this.values);
    this.names = names;
    this.series = [];
    this.chosen = null;
    this.figure.addEventListener("pointermove", (event) => this.point(event));
    this.figure.addEventListener("pointerdown", (event) => this.point(event));
    this.figure.addEventListener("pointerleave", (event) => event.pointerType !== "touch" && this.choose(null));
    this.figure.addEventListener("keydown", (event) => this.press(event));
  }

  update(series) {
    this.series = series;
    this.draw();
  }

  steps() {
    return [...new Set(this.series.flatMap(({ points }) => points.map((point) => point[0])))].sort((a, b) => a - b);
  }

  point(event) {
    const frame = this.svg.getBoundingClientRect();
    const step = this.stepAt(((event.clientX - frame.left) / frame.width) * WIDTH);
    const steps = this.steps();
    this.choose(steps.reduce((best, one) => (Math.abs(one - step) < Math.abs(best - step) ? one : best), steps[0]));
  }

  press(event) {
    const move = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (event.key === "Escape") this.choose(null);
    if (move === undefined) return;
    event.preventDefault();
    const steps = this.steps();
    const place = this.chosen === null ? steps.length : steps.indexOf(this.chosen);
    this.choose(steps[Math.max(0, Math.min(steps.length - 1, place + move))]);
  }

  choose(step) {
    this.chosen = step;
    this.draw();
  }

  draw() {
    const series = this.series.filter(({ points }) => points.some((point) => point[1] !== null));
    this.figure.hidden = series.length === 0;
    if (series.length === 0) return;
    const steps = this.steps();
    const [first, last] = [steps[0], Math.max(steps[steps.length - 1], steps[0] + 1)];
    const [low, high] = ends(series);
    const x = (step) => LEFT + ((step - first) / (last - first)) * (WIDTH - LEFT - 8);
    const y = (value) => TOP + (1 - (Math.min(value, high) - low) / (high - low)) * (HEIGHT - TOP - BOTTOM);
    this.stepAt = (place) => first + ((place - LEFT) / (WIDTH - LEFT - 8)) * (last - first);
    const parts = [];
    for (const value of ticks(low, high, 4)) {
      parts.push(element("line", { class: "grid", x1: LEFT, x2: WIDTH - 8, y1: y(value), y2: y(value) }));
      parts.push(element("text", { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, formatNumber(value)));
    }
    for (const value of ticks(first, last, 4).filter(Number.isInteger)) {
      parts.push(element("text", { x: x(value), y: HEIGHT - 6, "text-anchor": "middle" }, value.toLocaleString("en")));
    }
    series.forEach(({ name, points }) => {
      const kind = this.names.indexOf(name) === 0 ? "first" : "second";
      parts.push(element("path", { class: kind, d: pathOf(points, x, y) }));
      const known = points.filter((point) => point[1] !== null);
      if (known.length <= 40) {
        for (const [step, value] of known) parts.push(element("circle", { class: kind, cx: x(step), cy: y(value), r: 2.6 }));
      }
    });
    if (this.chosen !== null) {
      parts.push(element("line", { class: "cursor", x1: x(this.chosen), x2: x(this.chosen), y1: TOP, y2: HEIGHT - BOTTOM }));
    }
    this.svg.replaceChildren(...parts);
    this.readOut(series);
  }

  readOut(series) {
    const keys = series.map(({ name, points }) => {
      const known = points.filter((point) => point[1] !== null && (this.chosen === null || point[0] <= this.chosen));
      const key = document.createElement("span");
      key.className = `key ${this.names.indexOf(name) === 0 ? "first" : "second"}`;
      key.textContent = `${name} ${formatNumber(known.length ? known[known.length - 1][1] : null)}`;
      return key;
    });
    const where = document.createElement("span");
    where.textContent = this.chosen === null ? "now" : `step ${this.chosen.toLocaleString("en")}`;
    this.values.replaceChildren(...keys, where);
  }
}
