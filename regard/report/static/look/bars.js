// Small charts for the panel on the right, as SVG elements and lists.

import { make, makeSvg } from "./page.js";
import { formatNumber, formatSigned } from "./format.js";

/** A list of names with bars and numbers; bars start at the left, or at the middle for signed values. */
export function barList(items, { top, hasSign = false, decimals = 3, strong = -1 }) {
  return make("ol", { class: "bars" }, ...items.map(({ label, value }, i) => {
    const fraction = Math.min(1, Math.abs(value) / (top || 1));
    const bar = make("i", { class: value < 0 ? "bar minus" : "bar" });
    bar.style.width = `${(hasSign ? 50 : 100) * fraction}%`;
    bar.style.marginInlineStart = hasSign ? `${value < 0 ? 50 - 50 * fraction : 50}%` : "0";
    const text = hasSign ? formatSigned(value, decimals) : formatNumber(value, decimals);
    const track = make("span", { class: hasSign ? "track middle" : "track" }, bar);
    const number = make("span", { class: "number" }, text);
    return make("li", { class: i === strong ? "strong" : "" }, make("bdi", {}, label), track, number);
  }));
}

/** A value with its confidence interval on an axis that shows zero. */
export function interval(value, low, high) {
  const span = Math.max(Math.abs(low), Math.abs(high), Math.abs(value), 1e-9) * 1.15;
  const x = (v) => 110 + (100 * v) / span;
  const text = `${formatSigned(value)}, from ${formatSigned(low)} to ${formatSigned(high)}`;
  return makeSvg(
    "svg", { viewBox: "0 0 220 26", class: "interval", role: "img", "aria-label": text },
    makeSvg("line", { x1: 4, x2: 216, y1: 13, y2: 13, class: "axis" }),
    makeSvg("line", { x1: 110, x2: 110, y1: 3, y2: 23, class: "axis" }),
    makeSvg("line", { x1: x(low), x2: x(high), y1: 13, y2: 13, class: "range" }),
    makeSvg("circle", { cx: x(value), cy: 13, r: 4.5, class: "dot" }),
  );
}

/** A curve over training steps, with its first and last value as text. */
export function sparkline(steps, values, label) {
  const points = values.map((value, i) => ({ step: steps[i], value })).filter(({ value }) => value !== null);
  if (points.length < 2) return null;
  const [first, last] = [points[0], points.at(-1)];
  const low = Math.min(0, ...points.map(({ value }) => value));
  const high = Math.max(...points.map(({ value }) => value), low + 1e-9);
  const x = (step) => 4 + (212 * (step - first.step)) / (last.step - first.step || 1);
  const y = (value) => 40 - (34 * (value - low)) / (high - low);
  const describe = ({ step, value }) => `${formatNumber(value, 2)} at step ${step.toLocaleString("en")}`;
  const text = `${label}: ${describe(first)}, ${describe(last)}`;
  const chart = makeSvg(
    "svg", { viewBox: "0 0 220 44", class: "spark", role: "img", "aria-label": text },
    makeSvg("line", { x1: 4, x2: 216, y1: 40, y2: 40, class: "axis" }),
    makeSvg("polyline", { points: points.map(({ step, value }) => `${x(step)},${y(value)}`).join(" "), class: "trace" }),
  );
  return make("figure", {}, chart, make("figcaption", {}, text));
}

/** Two fractions that sum to 1. */
export function split(fraction, left, right) {
  const bar = make("span", { class: "split" }, make("i", {}));
  bar.firstChild.style.width = `${100 * fraction}%`;
  const [first, second] = [`${left} ${formatNumber(fraction)}`, `${right} ${formatNumber(1 - fraction)}`];
  return make("div", { class: "halves" }, make("span", {}, first), bar, make("span", {}, second));
}
