// Colors: a sequential scale for amounts, a diverging one (blue, orange) for signed values, eight colors for heads.

import { measureOf } from "./data.js";
import { state } from "./state.js";

const SEQUENTIAL = {
  light: ["#f7f9fc", "#d3e2f0", "#a3c5e2", "#6ba3cf", "#3579b1", "#17508a", "#08295a"],
  dark: ["#1c2126", "#1f3a55", "#235885", "#3579b1", "#63a3d6", "#a3cdee", "#f0f8ff"],
};
const DIVERGING = {
  light: ["#0a3f7c", "#3f7fc0", "#a9c9e6", "#f6f5f2", "#f3c79b", "#cf7420", "#7a3800"],
  dark: ["#a8d6ff", "#4a90d0", "#254a6c", "#23272c", "#6a451f", "#cf7f2c", "#ffd09a"],
};
// Okabe and Ito 2008, as in the charts; lighter on a dark background.
const HEADS = {
  light: ["#0072b2", "#c14e00", "#007f5d", "#a8508a", "#946200", "#3b7fb8", "#333333", "#7a7000"],
  dark: ["#63b8f0", "#ff9351", "#3fcfa3", "#eba3cf", "#f2bb3f", "#9fb7ff", "#d5dae0", "#d8d04e"],
};
const THEME_COLORS = {
  light: { paper: "#ffffff", ink: "#1f2328", soft: "#57606a", line: "#dfe3e8", quiet: "#f2f4f6", empty: "#efece7", accent: "#b3470a" },
  dark: { paper: "#191d21", ink: "#e6e9ec", soft: "#a3abb4", line: "#3a4149", quiet: "#23282d", empty: "#16191c", accent: "#ffb27a" },
};
// Color is the third cue: every head also has its own dash pattern and its name at the figure.
export const DASHES = [[], [7, 3], [2, 3], [9, 3, 2, 3], [4, 4], [1, 4], [12, 4], [6, 2, 1, 2, 1, 2]];

const tables = new Map();

export function dark() {
  return document.documentElement.dataset.theme === "dark";
}

export function themeColors() {
  return THEME_COLORS[dark() ? "dark" : "light"];
}

export function headColor(key) {
  const order = Math.max(0, state.heads.indexOf(key));
  return HEADS[dark() ? "dark" : "light"][order % 8];
}

export function headDash(key) {
  return DASHES[Math.max(0, state.heads.indexOf(key)) % 8];
}

/** Maps values to the scale of a measure: 0..1, or -1..1 for a signed one. */
export function scale(measure = state.measure) {
  const { top, signed } = measureOf(measure);
  const { root } = state;
  return (value) => {
    const strength = Math.max(signed ? -1 : 0, Math.min(1, value / top));
    return root ? Math.sign(strength) * Math.sqrt(Math.abs(strength)) : strength;
  };
}

export function strength(value) {
  return scale()(value);
}

/** Maps a measure's values to [r, g, b]; NaN gets a warm gray that is not on the scale. */
export function shader(measure = state.measure) {
  const { signed } = measureOf(measure);
  const strengthOf = scale(measure);
  const table = shades(signed ? DIVERGING : SEQUENTIAL);
  const empty = rgb(themeColors().empty);
  const last = table.length - 1;
  return (value) => {
    if (Number.isNaN(value)) return empty;
    const size = strengthOf(value);
    return table[Math.round((signed ? (size + 1) / 2 : size) * last)];
  };
}

export function shade(value, measure = state.measure) {
  return shader(measure)(value);
}

/** A text color that is readable on a background. */
export function textColorOn([r, g, b]) {
  return 0.299 * r + 0.587 * g + 0.114 * b > 140 ? "#1f2328" : "#ffffff";
}

function shades(scales) {
  const stops = scales[dark() ? "dark" : "light"];
  const name = stops.join();
  if (!tables.has(name)) tables.set(name, Array.from({ length: 257 }, (_, i) => interpolate(stops.map(rgb), i / 256)));
  return tables.get(name);
}

function interpolate(stops, fraction) {
  const position = fraction * (stops.length - 1);
  const low = Math.min(stops.length - 2, Math.floor(position));
  return stops[low].map((channel, i) => Math.round(channel + (stops[low + 1][i] - channel) * (position - low)));
}

function rgb(hex) {
  return [1, 3, 5].map((start) => parseInt(hex.slice(start, start + 2), 16));
}
