// A tensor is { shape, data }: numbers row by row in a Float32Array. Arithmetic is in 64 bits, what is stored in 32.
//
// Letters as in regard/model: S source, T target tokens (Tq, Tk in attention) · H heads · K head dimension · D model
// width · F feed-forward width · V vocabulary. There is no batch: one text at a time, or the R beams of one.

/** A tensor of this shape; zeros unless numbers are given. */
export function tensor(shape, data = new Float32Array(shape.reduce((product, size) => product * size, 1))) {
  return { shape, data };
}

/** The sum of two tensors of one shape, as a new one. */
export function add(a, b) {
  const sum = new Float32Array(a.data.length);
  for (let i = 0; i < sum.length; i++) sum[i] = a.data[i] + b.data[i];
  return tensor(a.shape, sum);
}

/** Rows (T, H·K) -> (H, T, K), a copy. */
export function splitHeads(rows, heads) {
  const [length, inner] = rows.shape;
  const width = inner / heads;
  const split = tensor([heads, length, width]);
  for (let h = 0; h < heads; h++)
    for (let i = 0; i < length; i++)
      split.data.set(rows.data.subarray(i * inner + h * width, i * inner + (h + 1) * width), (h * length + i) * width);
  return split;
}

/** (H, T, K) -> rows (T, H·K), a copy. */
export function joinHeads(split) {
  const [heads, length, width] = split.shape;
  const rows = tensor([length, heads * width]);
  for (let h = 0; h < heads; h++)
    for (let i = 0; i < length; i++)
      rows.data.set(split.data.subarray((h * length + i) * width, (h * length + i + 1) * width), (i * heads + h) * width);
  return rows;
}

/** Row i of a tensor (T, D), not a copy. */
export function row(x, i) {
  return x.data.subarray(i * x.shape[1], (i + 1) * x.shape[1]);
}
