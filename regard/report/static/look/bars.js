// Small drawings for the panel on the right, as SVG elements and lists.

import { draw, make } from "./page.js";
import { figure, signed } from "./written.js";

/** A list of names with bars and numbers; bars grow from the left, or from the middle where numbers have a sign. */
export function barList(items, { top, hasSign = false, decimals = 3, strong = -1 }) {
  return make("ol", { class: "bars" }, ...items.map(({ label, value }, i) => {
    const part = Math.min(1, Math.abs(value) / (top || 1));
    const bar = make("i", { class: value < 0 ? "bar minus" : "bar" });
    bar.style.width = `${(hasSign ? 50 : 100) * part}%`;
    bar.style.marginInlineStart = hasSign ? `${value < 0 ? 50 - 50 * part : 50}%` : "0";
    const text = hasSign ? signed(value, decimals) : figure(value, decimals);
    const track = make("span", { class: hasSign ? "track middle" : "track" }, bar);
    const number = make("span", { class: "figure" }, text);
    return make("li", { class: i === strong ? "strong" : "" }, make("bdi", {}, label), track, number);
  }));
}

/** A value with its interval on a line that shows zero. */
export function interval(value, low, high) {
  const span = Math.max(Math.abs(low), Math.abs(high), Math.abs(value), 1e-9) * 1.15;
  const x = (v) => 110 + (100 * v) / span;
  const told = `${signed(value)}, from ${signed(low)} to ${signed(high)}`;
  return draw(
    "svg", { viewBox: "0 0 220 26", class: "interval", role: "img", "aria-label": told },
    draw("line", { x1: 4, x2: 216, y1: 13, y2: 13, class: "axis" }),
    draw("line", { x1: 110, x2: 110, y1: 3, y2: 23, class: "axis" }),
    draw("line", { x1: x(low), x2: x(high), y1: 13, y2: 13, class: "range" }),
    draw("circle", { cx: x(value), cy: 13, r: 4.5, class: "dot" }),
  );
}

/** A curve through training, with its first and last number written out. */
export function sparkline(steps, values, label) {
  const real = values.map((value, i) => ({ step: steps[i], value })).filter(({ value }) => value !== null);
  if (real.length < 2) return null;
  const [first, last] = [real[0], real.at(-1)];
  const low = Math.min(0, ...real.map(({ value }) => value));
  const high = Math.max(...real.map(({ value }) => value), low + 1e-9);
  const x = (step) => 4 + (212 * (step - first.step)) / (last.step - first.step || 1);
  const y = (value) => 40 - (34 * (value - low)) / (high - low);
  const written = ({ step, value }) => `${figure(value, 2)} at step ${step.toLocaleString("en")}`;
  const told = `${label}: ${written(first)}, ${written(last)}`;
  const picture = draw(
    "svg", { viewBox: "0 0 220 44", class: "spark", role: "img", "aria-label": told },
    draw("line", { x1: 4, x2: 216, y1: 40, y2: 40, class: "axis" }),
    draw("polyline", { points: real.map(({ step, value }) => `${x(step)},${y(value)}`).join(" "), class: "trace" }),
  );
  return make("figure", {}, picture, make("figcaption", {}, told));
}

/** Two parts of a whole. */
export function split(part, left, right) {
  const bar = make("span", { class: "split" }, make("i", {}));
  bar.firstChild.style.width = `${100 * part}%`;
  const [first, second] = [`${left} ${figure(part)}`, `${right} ${figure(1 - part)}`];
  return make("div", { class: "halves" }, make("span", {}, first), bar, make("span", {}, second));
}
