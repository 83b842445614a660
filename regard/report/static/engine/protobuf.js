// Reads messages of protocol buffers: https://protobuf.dev/programming-guides/encoding/

/** The fields of a message: [number, value]. A value is a number, or the bytes of a text or of another message. */
export function readFields(bytes) {
  const fields = [];
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;
  const varint = () => {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = bytes[at++];
      if (byte === undefined) throw new Error("a tokenizer is damaged");
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
    }
  };
  while (at < bytes.length) {
    const tag = varint();
    const wire = tag & 7;
    if (wire === 0) fields.push([tag >>> 3, varint()]);
    else if (wire === 5) fields.push([tag >>> 3, view.getFloat32((at += 4) - 4, true)]);
    else if (wire === 1) at += 8;
    else if (wire === 2) {
      const length = varint();
      fields.push([tag >>> 3, bytes.subarray(at, (at += length))]);
    } else throw new Error("a tokenizer is damaged");
  }
  return fields;
}

/** The text of bytes in UTF-8; a mark of byte order is a character. */
export function readText(bytes) {
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
}
