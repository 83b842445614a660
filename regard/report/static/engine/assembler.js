// A small assembler of WebAssembly: instructions as lists of bytes, and a module with one memory that is imported.
// Opcodes: https://webassembly.github.io/spec/core/binary/instructions.html

export const I32 = 0x7f;
export const V128 = 0x7b;

/** An unsigned number as LEB128. */
function unsigned(number) {
  const bytes = [];
  do {
    const low = number & 0x7f;
    number >>>= 7;
    bytes.push(number ? low | 0x80 : low);
  } while (number);
  return bytes;
}

/** A signed number as LEB128. */
function signed(number) {
  const bytes = [];
  for (;;) {
    const low = number & 0x7f;
    number >>= 7;
    if ((number === 0 && !(low & 0x40)) || (number === -1 && low & 0x40)) return [...bytes, low];
    bytes.push(low | 0x80);
  }
}

function simd(opcode, ...rest) {
  return [0xfd, ...unsigned(opcode), ...rest];
}

export const get = (local) => [0x20, ...unsigned(local)];
export const set = (local) => [0x21, ...unsigned(local)];
export const constant = (number) => [0x41, ...signed(number)];
export const ADD = [0x6a];
export const MULTIPLY = [0x6c];
export const LESS = [0x49]; // unsigned
/** Repeats a body for as long as the condition after it leaves 1 on the stack; at least once. */
export const doWhile = (body, condition) => [0x03, 0x40, ...body, ...condition, 0x0d, 0x00, 0x0b];

export const load128 = (offset) => simd(0, 0, ...unsigned(offset));
export const load8x8 = (offset) => simd(1, 0, ...unsigned(offset)); // eight signed bytes as i16x8
export const STORE128 = simd(11, 0, 0);
export const ZERO128 = simd(12, ...new Array(16).fill(0));
/** Lanes of 32 bits: 0 to 3 of the first operand, 4 to 7 of the second. */
export const shuffle32 = (...lanes) => simd(13, ...lanes.flatMap((lane) => [0, 1, 2, 3].map((byte) => 4 * lane + byte)));
export const ADD_I32X4 = simd(174);
export const DOT_I16X8 = simd(186); // products of i16x8, neighbors added: i32x4
export const ADD_F32X4 = simd(228);
export const MULTIPLY_F32X4 = simd(230);

/** A module that imports a memory of any size as env.memory and exports functions of i32 parameters. */
export function assembleModule(functions) {
  const types = functions.map(({ parameters }) => [0x60, ...vector(new Array(parameters).fill([I32])), 0]);
  const imported = [...name("env"), ...name("memory"), 0x02, 0x00, 0x00];
  const exported = functions.map((one, i) => [...name(one.name), 0x00, ...unsigned(i)]);
  const codes = functions.map(({ locals, body }) => {
    const code = [...vector(locals.map(([count, type]) => [...unsigned(count), type])), ...body, 0x0b];
    return [...unsigned(code.length), ...code];
  });
  return Uint8Array.from([
    ...[0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00], // "\0asm", version 1
    ...section(1, vector(types)),
    ...section(2, vector([imported])),
    ...section(3, vector(functions.map((_, i) => unsigned(i)))),
    ...section(7, vector(exported)),
    ...section(10, vector(codes)),
  ]);
}

function vector(items) {
  return [...unsigned(items.length), ...items.flat()];
}

function section(id, content) {
  return [id, ...unsigned(content.length), ...content];
}

function name(text) {
  return vector([...text].map((letter) => [letter.charCodeAt(0)]));
}
