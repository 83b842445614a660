// Formats numbers and names of heads.

import { facts, kindOf, measureOf } from "./data.js";
import { isShared } from "./state.js";

const ALL_HEADS = "all layers, all heads";

/** A number with fixed decimals; a dash where there is none. */
export function formatNumber(value, decimals = 3) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  const text = Math.abs(value).toFixed(decimals);
  return value < 0 && Number(text) !== 0 ? `−${text}` : text;
}

export function formatSigned(value, decimals = 3) {
  const text = formatNumber(value, decimals);
  return value > 0 && Number(text) !== 0 ? `+${text}` : text;
}

/** The end of a scale, which is a round number. */
export function formatLimit(value) {
  return formatNumber(Number(value.toPrecision(3)), Number.isInteger(value) ? 0 : decimalsNeeded(value));
}

function decimalsNeeded(value) {
  const digits = Number(value.toPrecision(3)).toString();
  return digits.includes("e") ? 6 : (digits.split(".")[1] ?? "").length;
}

/** A round number that is at least as large: the end of a scale. */
export function roundAbove(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].find((step) => step * power >= value * (1 - 1e-9)) * power;
}

/** The number of correct decimals of a measure in a kind. */
export function decimalsOf(measure, kind) {
  return measureOf(measure).kinds[kind]?.decimals ?? 3;
}

export function shortName(head) {
  return `L${head.layer} · H${head.head}`;
}

export function longName(kind, head) {
  return `${kindOf(kind).label} · layer ${head.layer} · head ${head.head}`;
}

/** The name of what a figure shows: a head, or all of them. */
export function figureName(head) {
  return isShared() ? ALL_HEADS : shortName(head);
}

export function figureTitle(kind, head) {
  return isShared() ? `${kindOf(kind).label} · ${ALL_HEADS}` : longName(kind, head);
}

/** What is known about the head of a figure; nothing where it shows all heads. */
export function figureSummary(head) {
  return isShared() ? "" : summary(head);
}

export function roleName(head) {
  if (head.role) return facts.roles[head.role] ?? head.role;
  return head.best === null ? "not measured" : "no reliable role";
}

/** What is known about a head, as one sentence. */
export function summary(head) {
  const text = head.note || roleName(head);
  return head.trained_to_align ? `trained to align; ${text}` : text;
}

export function ordinal(number) {
  const tens = number % 100;
  const suffix = tens >= 11 && tens <= 13 ? "th" : (["th", "st", "nd", "rd"][number % 10] ?? "th");
  return `${number}${suffix}`;
}
