// How far to trust what is seen: this head put to the test, whether measures agree, and what each may be taken for.

import { facts } from "./data.js";
import { make, note } from "./page.js";
import { figure, signed } from "./written.js";

const LITTLE = 0.01; // of all probability: the output has hardly moved
const ALIKE = 0.1; // bits: two ways to look that the eye would take for one

/** What happens if the head looks elsewhere, and who else looks as it does. */
export function trust(head) {
  const known = head.trust;
  if (!known) return null;
  const rows = [
    ["if shuffled, the output moves", known.shuffled === null ? null : `${figure(100 * known.shuffled, 1)} %`],
    ["if even, the loss", known.even === null ? null : signed(known.even, 3)],
    ["ranks keys as the gradient does", known.gradient === null ? null : figure(known.gradient, 2)],
    ["from the head most like it", known.twin === null ? null : `${figure(known.twin_apart, 2)} apart`],
    ["from where places alone look", known.places_apart === null ? null : `${figure(known.places_apart, 2)} apart`],
  ].filter(([, value]) => value !== null);
  const list = make("dl", {}, ...rows.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]));
  return [list, ...verdicts(known).map(note)];
}

/** The numbers in plain words. */
function verdicts(known) {
  const told = [];
  if (known.shuffled !== null) {
    told.push(
      known.shuffled < LITTLE
        ? "Wherever this head looks, nearly the same is written: its picture does not explain this output."
        : "Where this head looks changes what is written here.",
    );
  }
  if (known.twin !== null) {
    const twin = `Most like it: ${known.twin}`;
    told.push(known.twin_apart < ALIKE ? `${twin}, nearly the same: neither can be judged alone.` : `${twin}.`);
  }
  const near = known.places_apart !== null && known.places_apart < ALIKE;
  if (near) told.push("Places alone would make it look there: words have little part in it.");
  return [...told, "Apart: Jensen-Shannon divergence, 0 the same, 1 nothing shared. All of this sentence."];
}

/** Rank correlations between measures: where they are low, no single picture is the truth. */
export function agreement() {
  const { names, correlation } = facts.disagreement ?? { names: [] };
  const here = names.map((_, i) => i).filter((i) => correlation[i].some((value, c) => c !== i && value !== null));
  if (!here.length) return null;
  const top = make("tr", {}, make("td"), ...here.map((i) => make("th", { scope: "col" }, make("span", {}, names[i]))));
  const cell = (r, c) => make("td", {}, r === c ? "·" : figure(correlation[r][c], 2));
  const line = (r) => make("tr", {}, make("th", { scope: "row" }, names[r]), ...here.map((c) => cell(r, c)));
  const table = make("table", { class: "agreement" }, make("thead", {}, top), make("tbody", {}, ...here.map(line)));
  const pairs = here.flatMap((r) => here.filter((c) => c < r).map((c) => [correlation[r][c], `${names[c]} and ${names[r]}`]));
  const [least, which] = pairs.filter(([value]) => value !== null).reduce((a, b) => (b[0] < a[0] ? b : a));
  const worst = `Farthest apart: ${which}, ${figure(least, 2)}. Where two disagree, neither picture is the truth.`;
  return [table, note(`Rank correlation over the keys of a row, averaged; 1 is agreement. ${worst}`)];
}

/** What each measure may be taken for, and what not. */
export function limits() {
  if (!facts.limits.length) return null;
  const lines = facts.limits.flatMap(({ label, told, not }) => [
    make("dt", {}, label), make("dd", {}, told, " ", make("em", {}, not)),
  ]);
  return make("dl", { class: "limits" }, ...lines);
}

export function caveats() {
  return make("ul", {}, ...[...facts.caveats, ...facts.notes].map((text) => make("li", {}, text)));
}
