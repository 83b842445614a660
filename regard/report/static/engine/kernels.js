// Products of rows with a weight, x wᵀ: in WebAssembly SIMD, and the same in plain JavaScript.
//
// A kernel is called with (x, R, w, E, D, out): addresses of x (R, D), w (E, D) and out (R, E), with E a multiple of 4
// and D one of 16. `products_int8` multiplies x in 16 bits with w in 8 bits to 32 bits, exactly; `products_float32`
// multiplies numbers of 32 bits.

import { ADD, ADD_F32X4, ADD_I32X4, DOT_I16X8, I32, LESS, MULTIPLY, MULTIPLY_F32X4, STORE128, V128, ZERO128, assembleModule, constant, doWhile, get, load128, load8x8, set, shuffle32 } from "./assembler.js";

export const PAGE_BYTES = 65536; // of WebAssembly's memory
const [X, ROWS, W, ENDS, DEPTH, OUT] = [0, 1, 2, 3, 4, 5]; // parameters
const [BLOCK, ROW, XP, END, OUTPUT] = [6, 7, 8, 9, 10]; // locals: counters and addresses
const POINTERS = [11, 12, 13, 14]; // into four rows of w
// Of four rows of w, four lanes each. Two sets take turns, so that no addition waits for the one before it.
const SUMS = [15, 16, 17, 18];
const OTHER_SUMS = [19, 20, 21, 22];
const INPUT = 23;

/**
 * Four rows of w at a time are multiplied with every row of x, so that w is read from memory once.
 * `part`: how many bytes of x and w a vector takes, and the instructions that load and multiply it.
 */
function kernel(name, { xBytes, wBytes, load, multiply, sum }) {
  const multiplyParts = [SUMS, OTHER_SUMS].flatMap((sums, part) => [
    ...get(XP), ...load128(16 * part), ...set(INPUT),
    ...sums.flatMap((total, i) => [
      ...get(total), ...get(POINTERS[i]), ...load(wBytes * part), ...get(INPUT), ...multiply, ...sum, ...set(total),
    ]),
  ]);
  const increase = (local, amount) => [...get(local), ...amount, ...ADD, ...set(local)];
  const depth = doWhile(
    [...multiplyParts, ...increase(XP, constant(32)), ...POINTERS.flatMap((local) => increase(local, constant(2 * wBytes)))],
    [...get(XP), ...get(END), ...LESS],
  );
  const rowBytes = (bytes) => [...get(DEPTH), ...constant(bytes), ...MULTIPLY];
  const wRow = rowBytes(wBytes === 8 ? 1 : 4);
  const startRow = [
    ...POINTERS.flatMap((local, i) => [...(i ? get(POINTERS[i - 1]) : get(BLOCK)), ...(i ? [...wRow, ...ADD] : []), ...set(local)]),
    ...get(XP), ...rowBytes(xBytes), ...ADD, ...set(END),
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
  const blocks = doWhile(
    [
      ...constant(0), ...set(ROW), ...get(X), ...set(XP), ...get(OUT), ...set(OUTPUT), ...rows,
      ...increase(BLOCK, [...wRow, ...constant(4), ...MULTIPLY]), ...increase(OUT, constant(16)),
    ],
    [...get(BLOCK), ...get(W), ...get(ENDS), ...wRow, ...MULTIPLY, ...ADD, ...LESS],
  );
  const locals = [[9, I32], [9, V128]];
  return { name, parameters: 6, locals, body: [...get(W), ...set(BLOCK), ...blocks] };
}

/** The bytes of the module with both kernels. */
export function kernelModule() {
  return assembleModule([
    kernel("products_int8", { xBytes: 2, wBytes: 8, load: load8x8, multiply: DOT_I16X8, sum: ADD_I32X4 }),
    kernel("products_float32", { xBytes: 4, wBytes: 16, load: load128, multiply: MULTIPLY_F32X4, sum: ADD_F32X4 }),
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
    int8: (x, rows, w, ends, depth, out) => multiplyRows(int16, x >> 1, rows, int8, w, ends, depth, int32, out >> 2),
    float32: (x, rows, w, ends, depth, out) => multiplyRows(float32, x >> 2, rows, float32, w >> 2, ends, depth, float32, out >> 2),
  };
}

function multiplyRows(xs, x, rows, ws, w, ends, depth, outs, out) {
  for (let i = 0; i < rows; i++)
    for (let e = 0; e < ends; e++) {
      let sum = 0;
      for (let c = 0; c < depth; c++) sum += xs[x + i * depth + c] * ws[w + e * depth + c];
      outs[out + i * ends + e] = sum;
    }
}
