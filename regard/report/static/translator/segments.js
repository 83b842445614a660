// A text in sentences, with what stands between them.

/**
 * { before, text, after }: joined, they are the text. `text` is a sentence, or empty where there are only blanks.
 * `facts`: the language, and whether the model knows lowercase text alone, where no capital begins a sentence.
 */
export function splitSentences(text, { source, lowercase }) {
  const lines = text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
  return lines.flatMap((line) => sentencesOf(line, source, lowercase)).map(trimmed);
}

function sentencesOf(line, language, lowercase) {
  if (lowercase || typeof Intl === "undefined" || !Intl.Segmenter) return line.match(/.*?[.!?…。！？]+["'”’»)]*\s+|.+$|\s+$/gsu) ?? [line];
  return Array.from(segmenterOf(language).segment(line), ({ segment }) => segment);
}

function segmenterOf(language) {
  try {
    return new Intl.Segmenter(language || "en", { granularity: "sentence" });
  } catch (error) {
    return new Intl.Segmenter("en", { granularity: "sentence" }); // a code that the browser does not know
  }
}

function trimmed(sentence) {
  const text = sentence.trim();
  const start = text ? sentence.indexOf(text) : sentence.length;
  return { before: sentence.slice(0, start), text, after: sentence.slice(start + text.length) };
}
