// The translation in words: each shows where it comes from, and asks what else it could be.

import { markPlaces } from "./source_pane.js";

const target = document.getElementById("target");
const SURE = 0.9; // from this probability on a word is not shaded

/**
 * Show sentences: { before, after, begin, words or null, partial }. `begin` is where the sentence begins in the text;
 * `onWord(sentence index, word, element)` is called for a word that was clicked.
 */
export function showSentences(sentences, onWord) {
  const focused = [...target.querySelectorAll(".word")].indexOf(document.activeElement);
  target.replaceChildren();
  sentences.forEach((sentence, index) => {
    target.append(sentence.before);
    if (sentence.words) for (const word of sentence.words) target.append(...wordNodes(word, sentence, index, onWord));
    else target.append(pendingNode(sentence.partial));
    target.append(sentence.after);
  });
  const words = target.querySelectorAll(".word");
  if (words.length) words[Math.max(0, Math.min(focused, words.length - 1))].tabIndex = 0;
  if (focused >= 0) words[Math.min(focused, words.length - 1)]?.focus();
}

/** The translation as plain text. */
export function translatedText() {
  return target.textContent;
}

/** Whether a translation is on its way. */
export function setBusy(isBusy) {
  target.ariaBusy = String(isBusy);
}

/** A word, after the blank before it. */
function wordNodes(word, sentence, index, onWord) {
  const text = word.text.trimStart();
  const blank = word.text.slice(0, word.text.length - text.length);
  if (!text) return [blank];
  const element = document.createElement("span");
  element.className = "word";
  element.role = "button";
  element.tabIndex = -1;
  element.textContent = text;
  const unsure = Math.max(0, Math.min(1, 1 - word.probability / SURE));
  element.style.setProperty("--unsure", unsure.toFixed(3));
  element.title = `${Math.round(100 * word.probability)} % sure`;
  const mark = () => markPlaces(placesOf(word, sentence.begin));
  element.addEventListener("pointerenter", mark);
  element.addEventListener("focus", mark);
  element.addEventListener("pointerleave", () => markPlaces([]));
  element.addEventListener("blur", () => markPlaces([]));
  element.addEventListener("click", () => onWord(index, word, element));
  element.addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      onWord(index, word, element);
    }
  });
  return [blank, element];
}

/** The places of the text that a word attends to most, as shares of the strongest. */
function placesOf({ sources }, begin) {
  const strongest = sources[0]?.weight || 1;
  const places = sources.filter(({ weight }) => weight > 0.3 * strongest && weight > 0.05);
  return places.map((place) => ({ begin: begin + place.begin, end: begin + place.end, weight: place.weight / strongest }));
}

function pendingNode(text) {
  const node = document.createElement("span");
  node.className = "pending";
  node.textContent = text ?? "";
  return node;
}

target.addEventListener("keydown", (event) => {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  const words = [...target.querySelectorAll(".word")];
  const at = words.indexOf(document.activeElement);
  if (!step || at < 0) return;
  event.preventDefault();
  const next = words[at + (getComputedStyle(target).direction === "rtl" ? -step : step)];
  if (!next) return;
  words[at].tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
});
