// The file that a model is written in, by regard/interchange/page/container.py: "regardpg", the length of a header in
// four bytes, the header as JSON, and from the next multiple of 16 on the tensors that it lists.

const MAGIC = "regardpg";

/** The header, and the bytes after it. */
export function readContainer(bytes) {
  if (new TextDecoder().decode(bytes.subarray(0, 8)) !== MAGIC) throw new Error("this is not a model of Regard");
  const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(8, true);
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(12, 12 + length)));
  return { header, body: bytes.subarray(Math.ceil((12 + length) / 16) * 16) };
}

/** Numbers of 32 bits, copied: their bytes need not be aligned. */
export function floats(body, offset, count) {
  const copy = body.slice(offset, offset + 4 * count);
  return new Float32Array(copy.buffer, copy.byteOffset, count);
}
