// The weights of a model in the memory of the kernels, and the linear layers and tables that read them there.

import { floats } from "./container.js";
import { PART, placeOf, plainKernels, simdKernels } from "./kernels.js";
import { tensor } from "./tensor.js";

const ROWS_AT_A_TIME = 32; // of x, for which there is room beside the weights
// Added to and subtracted from a number of 32 bits, it rounds to an integer, a half to the even one.
const ROUNDING = 12582912;

/** All tensors of a model by name. Matrices of linear layers and tables of tokens are in the kernels' memory. */
export class Weights {
  constructor({ header, body }, simd = true) {
    this.header = header;
    this._body = body;
    this._tensors = new Map();
    const matrices = Object.entries(header.tensors).filter(([, entry]) => entry.matrix);
    const sizes = matrices.map(([, entry]) => matrixBytes(entry));
    const deepest = Math.max(...matrices.map(([, { shape }]) => padded(shape[1], 16)));
    const widest = Math.max(...matrices.map(([, { shape }]) => padded(shape[0], 4)));
    const room = ROWS_AT_A_TIME * 4 * (deepest + widest);
    const total = sizes.reduce((sum, size) => sum + size, room + 64);
    this.kernels = (simd && simdKernels(total)) || plainKernels(total);
    this._x = 16; // address of the input of a product
    this._out = this._x + ROWS_AT_A_TIME * 4 * deepest;
    let address = 16 + room;
    matrices.forEach(([name, entry], i) => {
      this._tensors.set(name, this._place(entry, address));
      address += sizes[i];
    });
  }

  /** A tensor by its name, or by the name of another module that shares it; null where the model has none. */
  find(name) {
    const first = this.header.aliases[name] ?? name;
    const entry = this.header.tensors[first];
    if (!entry) return null;
    if (!this._tensors.has(first)) {
      const count = entry.shape.reduce((product, size) => product * size, 1);
      this._tensors.set(first, tensor(entry.shape, floats(this._body, entry.offset, count)));
    }
    return this._tensors.get(first);
  }

  /** The layer x wᵀ + b of this name. */
  linear(name) {
    return new Linear(this, this.find(`${name}.weight`), this.find(`${name}.bias`));
  }

  /** A file that is stored beside the tensors. */
  file(name) {
    const { offset, length } = this.header.files[name];
    return this._body.subarray(offset, offset + length);
  }

  /** x (R, D) times a matrix (E, D): (R, E). */
  multiply(x, matrix, bias) {
    const [rows, depth] = x.shape;
    const result = tensor([rows, matrix.rows]);
    for (let first = 0; first < rows; first += ROWS_AT_A_TIME) {
      const count = Math.min(ROWS_AT_A_TIME, rows - first);
      const part = x.data.subarray(first * depth, (first + count) * depth);
      const multiply = matrix.scales ? this._multiplyInt8 : this._multiplyFloat32;
      multiply.call(this, part, count, matrix, bias, result.data.subarray(first * matrix.rows));
    }
    return result;
  }

  _multiplyFloat32(x, rows, matrix, bias, result) {
    const { stride, ends, columns } = matrix;
    const input = new Float32Array(this.kernels.buffer, this._x, rows * stride);
    for (let i = 0; i < rows; i++) {
      input.set(x.subarray(i * columns, (i + 1) * columns), i * stride);
      input.fill(0, i * stride + columns, (i + 1) * stride);
    }
    this.kernels.float32(this._x, rows, matrix.address, ends, stride, this._out);
    const sums = new Float32Array(this.kernels.buffer, this._out, rows * ends);
    for (let i = 0; i < rows; i++)
      for (let e = 0; e < matrix.rows; e++)
        result[i * matrix.rows + e] = sums[i * ends + e] + (bias ? bias.data[e] : 0);
  }

  /** Each row of x is scaled so that its largest number is 127, and rounded; sums of integers are exact. */
  _multiplyInt8(x, rows, matrix, bias, result) {
    const { stride, ends, columns } = matrix;
    const input = new Int16Array(this.kernels.buffer, this._x, rows * stride);
    const largest = new Float64Array(rows);
    for (let i = 0; i < rows; i++) {
      const row = x.subarray(i * columns, (i + 1) * columns);
      for (const number of row) largest[i] = Math.max(largest[i], Math.abs(number));
      const inverse = largest[i] ? 127 / largest[i] : 0;
      for (let c = 0; c < columns; c++) input[i * stride + c] = Math.fround(row[c] * inverse + ROUNDING) - ROUNDING;
      input.fill(0, i * stride + columns, (i + 1) * stride);
    }
    this.kernels.int8(this._x, rows, matrix.address, ends, stride, this._out);
    const sums = new Int32Array(this.kernels.buffer, this._out, rows * ends);
    for (let i = 0; i < rows; i++) {
      const scale = largest[i] / 127;
      for (let e = 0; e < matrix.rows; e++)
        result[i * matrix.rows + e] = sums[i * ends + e] * (scale * matrix.scales[e]) + (bias ? bias.data[e] : 0);
    }
  }

  /** Copy a matrix (E, D) to an address, in the order of the kernels; what is added to it is zero. */
  _place(entry, address) {
    const [rows, columns] = entry.shape;
    const [stride, ends, isInt8] = [padded(columns, 16), padded(rows, 4), entry.scales !== undefined];
    const part = isInt8 ? PART.int8 : PART.float32;
    const view = new (isInt8 ? Int8Array : Float32Array)(this.kernels.buffer, address, ends * stride);
    const numbers = isInt8
      ? new Int8Array(this._body.buffer, this._body.byteOffset + entry.offset, rows * columns)
      : floats(this._body, entry.offset, rows * columns);
    for (let i = 0; i < rows; i++)
      for (let c = 0; c < columns; c += part) {
        const end = i * columns + Math.min(c + part, columns);
        view.set(numbers.subarray(i * columns + c, end), placeOf(i, c, stride, part));
      }
    const scales = isInt8 ? floats(this._body, entry.scales, rows) : null;
    return { rows, columns, stride, ends, address, part, view, scales, shape: entry.shape };
  }
}

/** Row i of a matrix, times a factor, is added to numbers: the embedding of token i. */
export function addRow(matrix, i, factor, into) {
  const scale = (matrix.scales ? matrix.scales[i] : 1) * factor;
  for (let c = 0; c < matrix.columns; c++) into[c] += matrix.view[placeOf(i, c, matrix.stride, matrix.part)] * scale;
}

/** x wᵀ + b for rows x. */
class Linear {
  constructor(weights, matrix, bias) {
    this.weights = weights;
    this.matrix = matrix;
    this.bias = bias;
  }

  forward(x) {
    return this.weights.multiply(x, this.matrix, this.bias);
  }
}

function padded(size, multiple) {
  return Math.ceil(size / multiple) * multiple;
}

function matrixBytes({ shape, scales }) {
  return padded(shape[0], 4) * padded(shape[1], 16) * (scales === undefined ? 4 : 1);
}
