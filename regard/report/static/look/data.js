// The numbers of the page. Facts are read at once; matrices wait as text and are unpacked when a view first asks.

export const facts = JSON.parse(document.getElementById("facts").textContent);

const layers = new Map(); // "encoder/weight/0" -> Float32Array, or null while it is being read
const waiting = new Set();

/** Be told whenever a matrix has arrived that a view asked for in vain. */
export function whenRead(listener) {
  waiting.add(listener);
}

export function kindOf(name) {
  return facts.kinds.find((kind) => kind.name === name);
}

export function measureOf(name) {
  return facts.measures.find((measure) => measure.name === name);
}

/** The head of a kind by its place "layer.head", where head is its number in the original model. */
export function headOf(kind, place) {
  const [layer, number] = place.split(".").map(Number);
  return (kindOf(kind).heads[layer] ?? []).find((head) => head.head === number) ?? null;
}

/** All heads of a kind in reading order. */
export function headsOf(kind) {
  return kindOf(kind).heads.flat();
}

export function placeOf(head) {
  return `${head.layer}.${head.head}`;
}

/** The matrix of a measure for one head: {rows, columns, values}, or null while it is being read. */
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

/** Any other packed list of numbers, by its name; null while it is being read. */
export function numbers(name, stored) {
  return values(name, stored, 0);
}

/** A promise for the matrices of a layer, for those who must have them (tests, exports). */
export async function settled() {
  while ([...layers.values()].includes(null)) await new Promise((done) => setTimeout(done, 5));
}

function values(key, stored, layer) {
  if (!layers.has(key)) {
    layers.set(key, null);
    unpacked(stored, stored.blobs[layer]).then((read) => {
      layers.set(key, read);
      for (const listener of waiting) listener();
    });
  }
  return layers.get(key);
}

async function unpacked(stored, id) {
  const bytes = await inflated(document.getElementById(id).textContent);
  const count = bytes.length / stored.width; // all low bytes first, then all higher ones
  const missing = 256 ** stored.width - 1;
  const read = new Float32Array(count);
  for (let i = 0; i < count; i++) {
    let code = 0;
    for (let n = stored.width - 1; n >= 0; n--) code = (code << 8) | bytes[n * count + i];
    read[i] = code === missing ? NaN : (code + stored.lowest) / stored.parts;
  }
  return read;
}

async function inflated(text) {
  const packed = Uint8Array.from(atob(text.trim()), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
