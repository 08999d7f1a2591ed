import type { Signer } from "../security/derived-keys.ts";
import { invalidField } from "./api-error.ts";

/** List positions as opaque texts. */
export interface Cursors {
  encode(position: string): string;
  /** The position, or 400 naming the query parameter it came in. */
  decode(cursor: string, field: string): string;
}

/** Signed, and bound to one client and one list: a cursor of another is refused like any other forgery. */
export function bindCursors(signer: Signer, clientId: string, list: string): Cursors {
  const message = (position: string) => JSON.stringify([clientId, list, position]);
  return {
    encode: (position) => `${toBase64Url(position)}.${signer.sign(message(position))}`,
    decode(cursor, field) {
      const [text = "", signature = "", ...rest] = cursor.split(".");
      const position = Buffer.from(text, "base64url").toString();
      // The decoder is lenient; what we did not write ourselves is refused.
      const isValid =
        rest.length === 0 && toBase64Url(position) === text && signer.verify(message(position), signature);
      if (!isValid) throw invalidField(`/${field}`, `${field} is not a cursor of this list`);
      return position;
    },
  };
}

const toBase64Url = (position: string) => Buffer.from(position).toString("base64url");
