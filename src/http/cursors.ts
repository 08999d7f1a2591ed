import { invalidField } from "../runtime/errors.ts";
import type { Signer } from "../security/derived-keys.ts";

/** List positions as opaque texts. */
export interface Cursors {
  seal(position: string): string;
  /** The position, or 400 naming the query parameter it came in. */
  open(cursor: string, field: string): string;
}

/** Signed, and bound to one client and one list: a cursor of another is refused like any other forgery. */
export function bindCursors(signer: Signer, clientId: string, list: string): Cursors {
  const message = (position: string) => JSON.stringify([clientId, list, position]);
  return {
    seal: (position) => `${Buffer.from(position).toString("base64url")}.${signer.sign(message(position))}`,
    open(cursor, field) {
      const [encoded = "", signature = ""] = cursor.split(".");
      const position = Buffer.from(encoded, "base64url").toString();
      if (!signer.verify(message(position), signature))
        throw invalidField(`/${field}`, `${field} is not a cursor of this list`);
      return position;
    },
  };
}
