// The data of the page. Facts are parsed at once; matrices are dequantized when a view first needs them.

export const facts = JSON.parse(document.getElementById("facts").textContent);

const layers = new Map(); // "encoder/weight/0" -> Float32Array, or null while it is loading
const listeners = new Set();

/** Call a listener whenever a matrix has been loaded. */
export function onLoaded(listener) {
  listeners.add(listener);
}

export function kindOf(name) {
  return facts.kinds.find((kind) => kind.name === name);
}

export function measureOf(name) {
  return facts.measures.find((measure) => measure.name === name);
}

/** The head of a kind by its key "layer.head", where head is its number in the original model. */
export function headOf(kind, key) {
  const [layer, number] = key.split(".").map(Number);
  return (kindOf(kind).heads[layer] ?? []).find((head) => head.head === number) ?? null;
}

/** All heads of a kind in reading order. */
export function headsOf(kind) {
  return kindOf(kind).heads.flat();
}

export function headKey(head) {
  return `${head.layer}.${head.head}`;
}

/** The matrix of a measure for one head: {rows, columns, values}, or null while it is loading. */
export function matrix(kind, measure, head) {
  const stored = measureOf(measure).kinds[kind];
  if (!stored) return null;
  const layer = stored.shared ? 0 : head.layer;
  const [rows, columns] = stored.sizes;
  const all = values(`${kind}/${measure}/${layer}`, stored, layer);
  if (!all) return null;
  const start = stored.shared ? 0 : head.index * rows * columns;
  return { rows, columns, values: all.subarray(start, start + rows * columns) };
}

/** The stored mean of every token as a key of a head, over all queries; null while it is loading. */
export function tokenMeans(kind, measure, head) {
  const { means, shared, sizes } = measureOf(measure).kinds[kind];
  const layer = shared ? 0 : head.layer;
  const start = shared ? 0 : head.index * sizes[1];
  return values(`${kind}/${measure}/${layer}/means`, means, layer)?.subarray(start, start + sizes[1]) ?? null;
}

/** Any other quantized list of numbers, by its name; null while it is loading. */
export function numbers(name, stored) {
  return values(name, stored, 0);
}

/** Resolves when every requested matrix is loaded; exports wait for it. */
export async function allLoaded() {
  while ([...layers.values()].includes(null)) await new Promise((done) => setTimeout(done, 5));
}

function values(key, stored, layer) {
  if (!layers.has(key)) {
    layers.set(key, null);
    dequantize(stored, stored.blobs[layer]).then((array) => {
      layers.set(key, array);
      for (const listener of listeners) listener();
    });
  }
  return layers.get(key);
}

async function dequantize(stored, id) {
  const bytes = await inflate(document.getElementById(id).textContent);
  const count = bytes.length / stored.code_bytes; // all low bytes first, then all high bytes
  const missing = 256 ** stored.code_bytes - 1;
  const array = new Float32Array(count);
  for (let i = 0; i < count; i++) {
    let code = 0;
    for (let n = stored.code_bytes - 1; n >= 0; n--) code = (code << 8) | bytes[n * count + i];
    array[i] = code === missing ? NaN : (code + stored.offset) / stored.steps_per_unit;
  }
  return array;
}

async function inflate(text) {
  const compressed = Uint8Array.from(atob(text.trim()), (letter) => letter.charCodeAt(0));
  const stream = new Blob([compressed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
