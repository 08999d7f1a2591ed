/** Counts the bytes of request bodies that this process holds at a time. */
export interface BodyMemory {
  /** False when the bytes do not fit; they are then not counted. */
  add(bytes: number, isPublic: boolean): boolean;
  remove(bytes: number, isPublic: boolean): void;
}

/** Routes without a credential use at most this share, so that anonymous callers do not take the memory of clients. */
const PUBLIC_SHARE = 0.5;

export function createBodyMemory(maxBytes: number): BodyMemory {
  let [total, publicTotal] = [0, 0];
  const change = (bytes: number, isPublic: boolean) => {
    total += bytes;
    if (isPublic) publicTotal += bytes;
  };
  const fits = (bytes: number, isPublic: boolean) =>
    total + bytes <= maxBytes && (!isPublic || publicTotal + bytes <= maxBytes * PUBLIC_SHARE);
  return {
    add(bytes, isPublic) {
      if (!fits(bytes, isPublic)) return false;
      change(bytes, isPublic);
      return true;
    },
    remove: (bytes, isPublic) => change(-bytes, isPublic),
  };
}
