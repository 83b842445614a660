// Faithfulness of a head's weights: tests, agreement of measures, and what each measure cannot show.

import { facts } from "./data.js";
import { make, note } from "./page.js";
import { formatNumber, formatSigned } from "./format.js";

const SMALL_EFFECT = 0.01; // total variation distance: the output hardly changes
const SIMILAR = 0.1; // bits: two attention patterns that look the same

/** What changes if the head attends elsewhere, and which head attends most similarly. */
export function faithfulness(head) {
  const tests = head.faithfulness;
  if (!tests) return null;
  const distance = (value) => (value === null ? null : `JSD ${formatNumber(value, 2)}`);
  const percentage = (value) => (value === null ? null : `${formatNumber(100 * value, 1)}%`);
  const rows = [
    ["permuted: output change", percentage(tests.permutation_tvd)],
    ["uniform: loss change", tests.uniform_loss_increase === null ? null : formatSigned(tests.uniform_loss_increase, 3)],
    ["correlation with gradient", tests.gradient_correlation === null ? null : formatNumber(tests.gradient_correlation, 2)],
    ["most similar head", distance(tests.most_similar_divergence)],
    ["positions alone", distance(tests.position_divergence)],
  ].filter(([, value]) => value !== null);
  const list = make("dl", {}, ...rows.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]));
  return [list, ...verdicts(tests).map(note)];
}

/** The numbers in plain words. */
function verdicts(tests) {
  const sentences = [];
  if (tests.permutation_tvd !== null) {
    sentences.push(
      tests.permutation_tvd < SMALL_EFFECT
        ? "Permuting this head's weights hardly changes the output: its weights do not explain this output."
        : "Permuting this head's weights changes the output.",
    );
  }
  if (tests.most_similar_head !== null) {
    const similar = `Most similar head: ${tests.most_similar_head}`;
    const isDuplicate = tests.most_similar_divergence < SIMILAR;
    sentences.push(isDuplicate ? `${similar}, nearly the same: neither can be judged alone.` : `${similar}.`);
  }
  const isPositional = tests.position_divergence !== null && tests.position_divergence < SIMILAR;
  if (isPositional) sentences.push("Positions alone explain where it attends: tokens hardly matter.");
  return [...sentences, "JSD: Jensen-Shannon divergence in bits, 0 identical, 1 disjoint. All for this sentence."];
}

/** Rank correlations between measures: where they are low, no single measure can be relied on. */
export function agreement() {
  const { names, correlation } = facts.agreement;
  const present = names.map((_, i) => i).filter((i) => correlation[i].some((value, c) => c !== i && value !== null));
  if (!present.length) return null;
  const top = make("tr", {}, make("td"), ...present.map((i) => make("th", { scope: "col" }, make("span", {}, names[i]))));
  const cell = (r, c) => make("td", {}, r === c ? "·" : formatNumber(correlation[r][c], 2));
  const line = (r) => make("tr", {}, make("th", { scope: "row" }, names[r]), ...present.map((c) => cell(r, c)));
  const table = make("table", { class: "agreement" }, make("thead", {}, top), make("tbody", {}, ...present.map(line)));
  const pairs = present.flatMap((r) => present.filter((c) => c < r).map((c) => [correlation[r][c], `${names[c]} and ${names[r]}`]));
  const [lowest, pair] = pairs.filter(([value]) => value !== null).reduce((a, b) => (b[0] < a[0] ? b : a));
  const worst = `Lowest: ${pair}, ${formatNumber(lowest, 2)}. Where two measures disagree, neither can be relied on alone.`;
  return [table, note(`Spearman rank correlation over the keys of a row, averaged over rows. ${worst}`)];
}

/** What each measure shows, and what it does not. */
export function limits() {
  if (!facts.limits.length) return null;
  const lines = facts.limits.flatMap(({ label, description, not }) => [
    make("dt", {}, label), make("dd", {}, description, " ", make("em", {}, not)),
  ]);
  return make("dl", { class: "limits" }, ...lines);
}

export function caveats() {
  return make("ul", {}, ...[...facts.caveats, ...facts.notes].map((text) => make("li", {}, text)));
}
