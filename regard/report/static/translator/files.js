// A text file that is dropped in is translated sentence by sentence and given back.

import { ask } from "./engine.js";
import { splitSentences } from "./segments.js";

const MAX_BYTES = 20e6;
const AT_ONCE = 50; // sentences of a request

/** The text of a file; an error in one sentence if it is none. */
export async function readTextFile(file) {
  if (file.size > MAX_BYTES) throw new Error(`${file.name} has ${(file.size / 1e6).toFixed(0)} MB; the page translates files of up to ${MAX_BYTES / 1e6} MB`);
  const bytes = await file.arrayBuffer();
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error) {
    throw new Error(`${file.name} is not text in UTF-8; save it as plain text first`);
  }
}

/** The translation of a whole text; `onProgress(done, all)`. Null if something else was asked of the engine. */
export async function translateText(text, facts, beam, onProgress) {
  const segments = splitSentences(text, facts);
  const sentences = segments.filter(({ text: sentence }) => sentence);
  const translations = [];
  for (let first = 0; first < sentences.length; first += AT_ONCE) {
    const part = sentences.slice(first, first + AT_ONCE).map(({ text: sentence }) => ({ text: sentence, prefix: [] }));
    const { stopped } = await ask("translate", { sentences: part, beam, nbest: 1 }, ({ sentence, result }) => {
      if (!result) return;
      translations[first + sentence] = result.words.map((word) => word.text).join("");
      onProgress(translations.filter((one) => one !== undefined).length, sentences.length);
    });
    if (stopped) return null;
  }
  let next = 0;
  return segments.map(({ before, text: sentence, after }) => before + (sentence ? translations[next++] : "") + after).join("");
}

/** Give a text back as a file. */
export function saveFile(name, text) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/plain;charset=utf-8" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

/** talk.txt -> talk.fr.txt. */
export function nameOfTranslation(name, language) {
  const dot = name.lastIndexOf(".");
  const [stem, ending] = dot > 0 ? [name.slice(0, dot), name.slice(dot)] : [name, ".txt"];
  return `${stem}.${language || "translation"}${ending}`;
}
