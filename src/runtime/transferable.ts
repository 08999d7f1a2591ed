/** Returns memory that can be transferred to another thread: copied if the buffer shares its memory with others. */
export const toTransferable = ({ buffer, byteOffset, byteLength }: Uint8Array): ArrayBuffer =>
  byteLength === buffer.byteLength
    ? (buffer as ArrayBuffer)
    : (buffer.slice(byteOffset, byteOffset + byteLength) as ArrayBuffer);
