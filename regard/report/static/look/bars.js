// Small charts for the panel on the right, as SVG elements and lists.

import { make, makeSvg } from "./page.js";
import { formatLimit, formatNumber, formatSigned } from "./format.js";

/**
 * A list of names with bars and numbers; bars start at the left, or at the middle for signed values.
 * `top` is the end of the scale of the measure, the same for every row and head, and stands below the bars.
 */
export function barList(items, { top, hasSign = false, decimals = 3, strong = -1 }) {
  const bars = items.map(({ label, value }, i) => {
    const fraction = Math.min(1, Math.abs(value) / (top || 1));
    const bar = make("i", { class: ["bar", value < 0 && "minus", Math.abs(value) > top && "beyond"].filter(Boolean).join(" ") });
    bar.style.width = `${(hasSign ? 50 : 100) * fraction}%`;
    bar.style.marginInlineStart = hasSign ? `${value < 0 ? 50 - 50 * fraction : 50}%` : "0";
    const text = hasSign ? formatSigned(value, decimals) : formatNumber(value, decimals);
    const track = make("span", { class: hasSign ? "track middle" : "track" }, bar);
    const number = make("span", { class: "number" }, text);
    return make("li", { class: i === strong ? "strong" : "" }, make("bdi", {}, label), track, number);
  });
  const ends = (hasSign ? [-top, 0, top] : [0, top]).map((value) => make("span", {}, formatLimit(value)));
  const scale = make("li", { class: "scale", "aria-hidden": "true" }, make("bdi", {}), make("span", { class: "ends" }, ...ends), make("span", {}));
  return make("ol", { class: "bars" }, ...bars, scale);
}

/** A value with its confidence interval on an axis from -top to top, which is the same for all heads of a kind. */
export function interval(value, low, high, top) {
  const x = (v) => 110 + (100 * v) / top;
  const text = `${formatSigned(value)}, from ${formatSigned(low)} to ${formatSigned(high)}, on a scale to ${formatLimit(top)}`;
  const ticks = [-top, 0, top].flatMap((tick) => [
    makeSvg("line", { x1: x(tick), x2: x(tick), y1: tick ? 9 : 3, y2: tick ? 17 : 23, class: "axis" }),
    makeSvg("text", { x: x(tick), y: 34, class: "tick" }, formatLimit(tick)),
  ]);
  return makeSvg(
    "svg", { viewBox: "-6 0 232 38", class: "interval", role: "img", "aria-label": text },
    makeSvg("line", { x1: 10, x2: 210, y1: 13, y2: 13, class: "axis" }),
    ...ticks,
    makeSvg("line", { x1: x(low), x2: x(high), y1: 13, y2: 13, class: "range" }),
    makeSvg("circle", { cx: x(value), cy: 13, r: 4.5, class: "dot" }),
  );
}

/** A curve over training steps, with its first and last value as text; its scale, [low, high], is that of all heads. */
export function sparkline(steps, values, label, [low, high]) {
  const points = values.map((value, i) => ({ step: steps[i], value })).filter(({ value }) => value !== null);
  if (points.length < 2) return null;
  const [first, last] = [points[0], points.at(-1)];
  const x = (step) => 4 + (212 * (step - first.step)) / (last.step - first.step || 1);
  const y = (value) => 40 - (34 * (value - low)) / (high - low);
  const describe = ({ step, value }) => `${formatNumber(value, 2)} at step ${step.toLocaleString("en")}`;
  const text = `${label}: ${describe(first)}, ${describe(last)}`;
  const zero = y(0);
  const chart = makeSvg(
    "svg", { viewBox: "0 0 244 50", class: "spark", role: "img", "aria-label": text },
    makeSvg("line", { x1: 4, x2: 216, y1: zero, y2: zero, class: "axis" }),
    makeSvg("line", { x1: 4, x2: 216, y1: y(high), y2: y(high), class: "axis faint" }),
    makeSvg("text", { x: 220, y: zero + 3, class: "tick end" }, "0"),
    makeSvg("text", { x: 220, y: y(high) + 3, class: "tick end" }, formatLimit(high)),
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
