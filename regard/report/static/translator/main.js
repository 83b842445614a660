// A private translator: two panes, and the model in the page.

import { ask, startEngine } from "./engine.js";
import { nameOfTranslation, readTextFile, saveFile, translateText } from "./files.js";
import { closeMenu, openMenu } from "./menu.js";
import { splitSentences } from "./segments.js";
import { markPlaces, textarea } from "./source_pane.js";
import { setBusy, showSentences, translatedText } from "./target_pane.js";

const PAUSE = 200; // milliseconds without a key, after which the text is translated
const MAX_TYPED = 20000; // characters; a longer text is for a file
const BEAM = 4;
const facts = JSON.parse(document.getElementById("facts").textContent);
const byId = (id) => document.getElementById(id);
const choices = new Map(); // sentence -> { prefix } or { fixed }: what was chosen for it
const ready = startEngine();
const messages = { engine: "", text: [] };

let sentences = []; // what is on the page: segments with words, or with what there is so far
let timer = 0;

/** Translate the text as it is now. */
async function translate() {
  clearTimeout(timer);
  timer = 0;
  closeMenu();
  setBusy(true);
  markPlaces([]);
  const text = textarea.value;
  const old = new Map(sentences.filter(({ words }) => words).map((one) => [one.text, one]));
  let begin = 0;
  sentences = (text.length > MAX_TYPED ? [] : splitSentences(text, facts)).map((segment) => {
    begin += segment.before.length;
    const known = old.get(segment.text);
    const sentence = { ...segment, begin, words: segment.text ? null : [], partial: known?.words.map((word) => word.text).join("") };
    begin += segment.text.length + segment.after.length;
    return sentence;
  });
  messages.text = text.length > MAX_TYPED ? [`A text of more than ${MAX_TYPED.toLocaleString("en")} characters is too long for typing: drop it as a file.`] : [];
  await ready;
  render();
  const asked = sentences;
  const open = asked.filter((one) => one.text);
  const requests = open.map(({ text: one }) => ({ text: one, prefix: [], ...choices.get(one) }));
  try {
    const { stopped } = await ask("translate", { sentences: requests, beam: BEAM, nbest: BEAM }, ({ sentence, partial, result }) => {
      if (asked !== sentences) return;
      if (result) Object.assign(open[sentence], result);
      else open[sentence].partial = partial;
      render();
    });
    if (asked === sentences && !stopped && !timer) setBusy(false);
  } catch (error) {
    setBusy(false);
    messages.text = [`This text cannot be translated: ${error.message}.`];
    render();
  }
}

function render() {
  showSentences(sentences, offerAlternatives);
  byId("notes").replaceChildren(...[messages.engine, ...messages.text, ...notesOf(sentences)].filter(Boolean).map(noteNode));
}

/** What is not possible, in sentences. */
function notesOf(all) {
  const unknown = [...new Set(all.flatMap((one) => one.unknown ?? []))];
  const shown = unknown.slice(0, 12).join(" ");
  const notes = [];
  if (unknown.length) notes.push(`The model has never seen ${shown}${unknown.length > 12 ? " and others" : ""}: it can only guess what to do with them.`);
  if (all.some((one) => one.truncated)) notes.push("A translation was cut, because it repeated itself or grew too long.");
  if (all.some((one) => one.parts > 1)) notes.push("A sentence is longer than the model can read, and was translated in parts.");
  return notes;
}

function noteNode(text) {
  const node = document.createElement("p");
  node.textContent = text;
  return node;
}

/** Other words for one that was clicked, and other translations of its sentence. */
async function offerAlternatives(index, word, element) {
  const sentence = sentences[index];
  if (!sentence.ids) return openMenu(element, [{ title: "A sentence in parts has no alternatives", entries: [] }]);
  const before = sentence.ids.slice(0, word.from);
  const { words } = await ask("alternatives", { text: sentence.text, prefix: before });
  if (sentence !== sentences[index] || !element.isConnected) return;
  const percent = (probability) => (probability < 0.005 ? "< 1 %" : `${Math.round(100 * probability)} %`);
  const others = words.filter(({ text }) => text !== word.text.trim()).slice(0, 6);
  const choose = (choice) => () => {
    choices.set(sentence.text, choice);
    translate();
  };
  openMenu(element, [
    { title: `Instead of “${word.text.trim()}”`, entries: others.map((one) => ({ text: one.text, detail: percent(one.probability), choose: choose({ prefix: [...before, ...one.ids] }) })) },
    { title: "The whole sentence", entries: sentence.hypotheses.map((one, i) => ({ text: one.text, detail: i ? "" : "best", choose: choose({ fixed: one.ids }) })) },
  ]);
}

async function translateFile(file) {
  try {
    const text = await readTextFile(file);
    if (text.length <= MAX_TYPED / 4) {
      textarea.value = text;
      translate();
      await ready;
    }
    const show = (done, all) => {
      messages.engine = `${file.name}: ${done.toLocaleString("en")} of ${all.toLocaleString("en")} sentences …`;
      render();
    };
    show(0, splitSentences(text, facts).filter((one) => one.text).length);
    await ready;
    const translation = await translateText(text, facts, BEAM, show);
    messages.engine = translation === null ? `${file.name}: stopped, because the text was changed.` : `${file.name} was translated.`;
    if (translation !== null) saveFile(nameOfTranslation(file.name, facts.target), translation);
  } catch (error) {
    messages.engine = `${error.message}.`;
  }
  render();
}

function nameLanguages() {
  const names = new Intl.DisplayNames(["en"], { type: "language", fallback: "code" });
  for (const side of ["source", "target"]) {
    if (!facts[side]) continue;
    try {
      byId(`${side}-language`).textContent = names.of(facts[side]);
    } catch (error) {
      byId(`${side}-language`).textContent = facts[side]; // not a code that the browser knows
    }
  }
  if (facts.source && facts.target && !facts.titled) {
    const [from, to] = ["source", "target"].map((side) => byId(`${side}-language`).textContent);
    document.title = byId("title").textContent = `${from} to ${to}: a private translator`;
  }
  textarea.lang = facts.source;
  byId("target").lang = facts.target;
}

async function copy() {
  const text = translatedText();
  try {
    await navigator.clipboard.writeText(text);
  } catch (error) {
    const range = document.createRange(); // from a file, some browsers refuse: select it, and copy that
    range.selectNodeContents(byId("target"));
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    document.execCommand("copy");
  }
  byId("copy").textContent = "Copied";
  setTimeout(() => (byId("copy").textContent = "Copy"), 1200);
}

function switchTheme() {
  const root = document.documentElement;
  const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = isDark ? "light" : "dark";
}

textarea.addEventListener("input", () => {
  clearTimeout(timer);
  setBusy(true);
  timer = setTimeout(translate, PAUSE);
});
byId("clear").addEventListener("click", () => {
  textarea.value = "";
  choices.clear();
  messages.engine = "";
  translate();
  textarea.focus();
});
byId("copy").addEventListener("click", copy);
byId("theme").addEventListener("click", switchTheme);
byId("help").addEventListener("click", () => byId("keys").showModal());
byId("shade").addEventListener("change", () => byId("target").classList.toggle("shaded", byId("shade").checked));
byId("open").addEventListener("click", () => byId("file").click());
byId("file").addEventListener("change", () => {
  if (byId("file").files.length) translateFile(byId("file").files[0]);
  byId("file").value = "";
});
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey && event.shiftKey && event.key.toLowerCase() === "c") {
    event.preventDefault();
    copy();
  }
});
document.addEventListener("dragover", (event) => {
  event.preventDefault();
  document.querySelector(".pane").classList.add("dropping");
});
document.addEventListener("dragleave", () => document.querySelector(".pane").classList.remove("dropping"));
document.addEventListener("drop", (event) => {
  event.preventDefault();
  document.querySelector(".pane").classList.remove("dropping");
  const [file] = event.dataTransfer.files;
  if (file) translateFile(file);
});

byId("target").classList.add("shaded");
nameLanguages();
messages.engine = "Opening the model …";
render();
ready.then(
  ({ simd }) => {
    messages.engine = simd ? "" : "This browser computes without WebAssembly SIMD: translations take longer.";
    render();
  },
  (error) => {
    messages.engine = `The model cannot run here: ${error.message}.`;
    render();
  },
);
if (textarea.value) translate();
textarea.focus();
