// Products of rows with a weight, x wᵀ: in WebAssembly SIMD, and the same in plain JavaScript.
//
// A kernel is called with (x, R, w, E, D, out): addresses of x (R, D), w (E, D) and out (R, E), with E a multiple of 4
// and D one of 16. `products_int8` multiplies x in 16 bits with w in 8 bits to 32 bits, exactly; `products_float32`
// multiplies numbers of 32 bits. w is stored in blocks of four rows, of which the first parts follow each other, then the
// next parts (see `placeOf`), so that it is read from memory in one stream.

import { ADD, ADD_F32X4, ADD_I32X4, DOT_I16X8, I32, LESS, MULTIPLY, MULTIPLY_F32X4, STORE128, V128, ZERO128, assembleModule, constant, doWhile, get, load128, load8x8, set, shuffle32 } from "./assembler.js";

export const PAGE_BYTES = 65536; // of WebAssembly's memory
const [X, ROWS, W, ENDS, DEPTH, OUT] = [0, 1, 2, 3, 4, 5]; // parameters
const [BLOCK, ROW, XP, END, OUTPUT, WP] = [6, 7, 8, 9, 10, 11]; // locals: counters and addresses
// Of four rows of w, four lanes each. Two sets take turns, so that no addition waits for the one before it.
const SUMS = [12, 13, 14, 15];
const OTHER_SUMS = [16, 17, 18, 19];
const INPUT = 20;
export const PART = { int8: 8, float32: 4 }; // numbers of a row that are multiplied at once

/** Where the number in a row and a column of w (E, D) is stored. */
export function placeOf(row, column, depth, part) {
  const block = (row >> 2) * 4 * depth;
  return block + (Math.floor(column / part) * 4 + (row & 3)) * part + (column % part);
}

/**
 * Four rows of w at a time are multiplied with every row of x, so that w is read from memory once.
 * `xBytes`, `wBytes`: of a number; `part`: bytes of w that `load` reads; `multiply` and `sum` work on what it returns.
 */
function kernel(name, { xBytes, wBytes, part, load, multiply, sum }) {
  const multiplyParts = [SUMS, OTHER_SUMS].flatMap((sums, i) => [
    ...get(XP), ...load128(16 * i), ...set(INPUT),
    ...sums.flatMap((total, row) => [
      ...get(total), ...get(WP), ...load((4 * i + row) * part), ...get(INPUT), ...multiply, ...sum, ...set(total),
    ]),
  ]);
  const increase = (local, amount) => [...get(local), ...amount, ...ADD, ...set(local)];
  const depth = doWhile(
    [...multiplyParts, ...increase(XP, constant(32)), ...increase(WP, constant(8 * part))],
    [...get(XP), ...get(END), ...LESS],
  );
  const blockBytes = [...get(DEPTH), ...constant(4 * wBytes), ...MULTIPLY];
  const startRow = [
    ...get(BLOCK), ...set(WP),
    ...get(XP), ...get(DEPTH), ...constant(xBytes), ...MULTIPLY, ...ADD, ...set(END),
    ...[...SUMS, ...OTHER_SUMS].flatMap((total) => [...ZERO128, ...set(total)]),
  ];
  // Lanes of four sums are added to one vector, one lane for each: transposed in two steps.
  const pair = (a, b) => [
    ...get(a), ...get(b), ...shuffle32(0, 4, 1, 5), ...get(a), ...get(b), ...shuffle32(2, 6, 3, 7), ...sum,
  ];
  const store = [
    ...SUMS.flatMap((total, i) => [...get(total), ...get(OTHER_SUMS[i]), ...sum, ...set(total)]),
    ...pair(SUMS[0], SUMS[1]), ...set(SUMS[0]), ...pair(SUMS[2], SUMS[3]), ...set(SUMS[2]),
    ...get(OUTPUT),
    ...get(SUMS[0]), ...get(SUMS[2]), ...shuffle32(0, 1, 4, 5), ...get(SUMS[0]), ...get(SUMS[2]), ...shuffle32(2, 3, 6, 7), ...sum,
    ...STORE128,
  ];
  const rows = doWhile(
    [...startRow, ...depth, ...store, ...increase(OUTPUT, [...get(ENDS), ...constant(4), ...MULTIPLY]), ...increase(ROW, constant(1))],
    [...get(ROW), ...get(ROWS), ...LESS],
  );
  const end = [...get(W), ...get(ENDS), ...get(DEPTH), ...MULTIPLY, ...constant(wBytes), ...MULTIPLY, ...ADD];
  const blocks = doWhile(
    [
      ...constant(0), ...set(ROW), ...get(X), ...set(XP), ...get(OUT), ...set(OUTPUT), ...rows,
      ...increase(BLOCK, blockBytes), ...increase(OUT, constant(16)),
    ],
    [...get(BLOCK), ...end, ...LESS],
  );
  const locals = [[6, I32], [9, V128]];
  return { name, parameters: 6, locals, body: [...get(W), ...set(BLOCK), ...blocks] };
}

/** The bytes of the module with both kernels. */
export function kernelModule() {
  return assembleModule([
    kernel("products_int8", { xBytes: 2, wBytes: 1, part: 8, load: load8x8, multiply: DOT_I16X8, sum: ADD_I32X4 }),
    kernel("products_float32", { xBytes: 4, wBytes: 4, part: 16, load: load128, multiply: MULTIPLY_F32X4, sum: ADD_F32X4 }),
  ]);
}

/** The kernels in WebAssembly over a memory of this size; null where the browser has no SIMD. */
export function simdKernels(bytes) {
  const pages = Math.ceil(bytes / PAGE_BYTES);
  try {
    const memory = new WebAssembly.Memory({ initial: pages });
    const instance = new WebAssembly.Instance(new WebAssembly.Module(kernelModule()), { env: { memory } });
    return { simd: true, buffer: memory.buffer, int8: instance.exports.products_int8, float32: instance.exports.products_float32 };
  } catch (error) {
    return null;
  }
}

/** The kernels in plain JavaScript over a buffer of this size. */
export function plainKernels(bytes) {
  const buffer = new ArrayBuffer(Math.ceil(bytes / 16) * 16);
  const [int8, int16, int32, float32] = [new Int8Array(buffer), new Int16Array(buffer), new Int32Array(buffer), new Float32Array(buffer)];
  return {
    simd: false,
    buffer,
    int8: (x, rows, w, ends, depth, out) => multiplyRows([int16, x >> 1], rows, [int8, w], ends, depth, [int32, out >> 2], PART.int8),
    float32: (x, rows, w, ends, depth, out) => multiplyRows([float32, x >> 2], rows, [float32, w >> 2], ends, depth, [float32, out >> 2], PART.float32),
  };
}

/** The products of arrays, each from an index on. */
function multiplyRows([xs, x], rows, [ws, w], ends, depth, [outs, out], part) {
  for (let i = 0; i < rows; i++)
    for (let e = 0; e < ends; e++) {
      let sum = 0;
      let at = w + placeOf(e, 0, depth, part);
      for (let c = x + i * depth; c < x + (i + 1) * depth; c += part, at += 4 * part)
        for (let j = 0; j < part; j++) sum += xs[c + j] * ws[at + j];
      outs[out + i * ends + e] = sum;
    }
}
