// Formats numbers and names of heads.

import { facts, kindOf, measureOf } from "./data.js";

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

export function roleName(head) {
  if (head.role) return facts.roles[head.role] ?? head.role;
  return head.best === null ? "not measured" : "no reliable role";
}

/** What is known about a head, as one sentence. */
export function summary(head) {
  return head.note || roleName(head);
}

export function ordinal(number) {
  const tens = number % 100;
  const suffix = tens >= 11 && tens <= 13 ? "th" : (["th", "st", "nd", "rd"][number % 10] ?? "th");
  return `${number}${suffix}`;
}
