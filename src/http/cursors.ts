import type { Signer } from "../security/derived-keys.ts";
import { invalidField } from "./api-error.ts";

/** Encodes list positions as opaque cursors. */
export interface Cursors {
  encode(position: string): string;
  /** Returns the position, or throws a 400 that names the query parameter `field`. */
  decode(cursor: string, field: string): string;
}

/** Cursors are signed for one client and one list; any other cursor is rejected. */
export function bindCursors(signer: Signer, clientId: string, list: string): Cursors {
  const message = (position: string) => JSON.stringify([clientId, list, position]);
  return {
    encode: (position) => `${toBase64Url(position)}.${signer.sign(message(position))}`,
    decode(cursor, field) {
      const [text = "", signature = "", ...rest] = cursor.split(".");
      const position = Buffer.from(text, "base64url").toString();
      // The base64 decoder is lenient: encoding again rejects every form but the canonical one.
      const isValid =
        rest.length === 0 && toBase64Url(position) === text && signer.verify(message(position), signature);
      if (!isValid) throw cursorOfOtherList(field);
      return position;
    },
  };
}

export const cursorOfOtherList = (field: string) =>
  invalidField(`/${field}`, `${field} is not a cursor of this list`);

const toBase64Url = (position: string) => Buffer.from(position).toString("base64url");
