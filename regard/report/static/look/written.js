// How numbers and heads are written.

import { facts, kindOf, measureOf } from "./data.js";

/** A number with the decimals that are right; a dash where there is none. */
export function figure(value, decimals = 3) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  const text = Math.abs(value).toFixed(decimals);
  return value < 0 && Number(text) !== 0 ? `−${text}` : text;
}

export function signed(value, decimals = 3) {
  const text = figure(value, decimals);
  return value > 0 && Number(text) !== 0 ? `+${text}` : text;
}

/** The decimals a measure is right to in a kind. */
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
  return head.best === null ? "not measured" : "no sure role";
}

/** What is found out about a head, as one sentence. */
export function summary(head) {
  return head.note || roleName(head);
}

export function ordinal(number) {
  const tens = number % 100;
  const suffix = tens >= 11 && tens <= 13 ? "th" : (["th", "st", "nd", "rd"][number % 10] ?? "th");
  return `${number}${suffix}`;
}
