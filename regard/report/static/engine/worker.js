// The engine in a worker of its own, so that the page never waits. Every message has an id, every answer the same.

import { TranslationSession } from "./session.js";

const MILLISECONDS = 12; // of work, after which messages are read
const CACHED = 500; // sentences

let session = null;
let current = 0; // the id of the newest translation: older ones stop
const cache = new Map();

/** Lets messages come in. */
function breathe() {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(0);
  });
}

/** The bytes of base64 that were deflated. */
async function inflate(base64) {
  const bytes = Uint8Array.fromBase64 ? Uint8Array.fromBase64(base64) : Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

const REQUESTS = {
  async open({ base64, simd }) {
    session = new TranslationSession(await inflate(base64), simd);
    return { kind: session.model.kind, simd: session.weights.kernels.simd };
  },

  /** Sentences one after the other; each is sent as soon as it is ready, the growing one as it grows. */
  async translate({ id, sentences, beam, nbest }) {
    current = id;
    for (const [index, { text, prefix, fixed }] of sentences.entries()) {
      const key = JSON.stringify([text, prefix, fixed, beam, nbest]);
      if (!cache.has(key)) {
        const result = await translateSentence(id, index, text, { prefix, fixed, beam, nbest });
        if (result === null) return { stopped: true };
        remember(key, result);
      }
      self.postMessage({ id, sentence: index, result: cache.get(key) });
    }
    return { stopped: false };
  },

  async alternatives({ text, prefix }) {
    return { words: session.alternatives(text, prefix) };
  },
};

/** { hypotheses, unknown, parts }, or null if a newer translation was asked for. */
async function translateSentence(id, index, text, { fixed, ...options }) {
  const parts = options.prefix?.length ? [text] : session.splitLong(text);
  const words = [];
  let hypotheses = [];
  let truncated = false;
  let offset = 0;
  for (const part of parts) {
    hypotheses = await finish(id, index, session.search(session.encodeSource(part.trimEnd()), options));
    if (hypotheses === null) return null;
    if (!hypotheses.length) throw new Error("the model gives no token a finite probability: its weights overflow");
    truncated ||= hypotheses[0].truncated;
    for (const word of session.describe(part.trimEnd(), fixed ?? hypotheses[0].ids)) {
      const sources = word.sources.map((place) => ({ ...place, begin: place.begin + offset, end: place.end + offset }));
      const text = words.length && word.from === 0 ? ` ${word.text}` : word.text;
      words.push({ ...word, text, sources });
    }
    offset += part.length;
  }
  const single = parts.length === 1;
  const others = single ? hypotheses.map(({ ids, score }) => ({ ids, score, text: session.target.decode(ids) })) : [];
  const ids = single ? (fixed ?? hypotheses[0].ids) : null; // those that the words are made of
  return { words, ids, hypotheses: others, truncated, parts: parts.length, unknown: session.unknownCharacters(text) };
}

/** The result of a search that lets messages in; null if a newer translation was asked for. */
async function finish(id, index, search) {
  let started = performance.now();
  for (;;) {
    const { done, value } = search.next();
    if (done) return value;
    if (performance.now() - started < MILLISECONDS) continue;
    self.postMessage({ id, sentence: index, partial: session.target.decode(value[0].ids) });
    await breathe();
    if (id !== current) return null;
    started = performance.now();
  }
}

function remember(key, result) {
  if (cache.size >= CACHED) cache.delete(cache.keys().next().value);
  cache.set(key, result);
}

self.onmessage = async ({ data }) => {
  try {
    self.postMessage({ id: data.id, done: await REQUESTS[data.kind](data) });
  } catch (error) {
    self.postMessage({ id: data.id, error: String(error?.message ?? error) });
  }
};
