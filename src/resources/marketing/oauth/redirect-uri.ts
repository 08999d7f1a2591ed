import { invalidField } from "../../../runtime/errors.ts";

const NO_ADDRESS = "must be an https address, or an http one on localhost";
const LOCAL = ["localhost", "127.0.0.1", "[::1]"];

/** What a person cannot be sent back to, in the order of telling. It is passed on to the letter, so nothing is mended. */
const REFUSALS: readonly { is(text: string, url: URL): boolean; message: string }[] = [
  { is: (text) => !/^https?:\/\/[^/\\]/i.test(text), message: NO_ADDRESS },
  { is: (text) => !/^[\x21-\x7e]+$/.test(text), message: "must be encoded: visible ASCII characters alone" },
  { is: (text) => text.includes("#"), message: "must have no fragment" },
  {
    is: (_, { username, password }) => username + password !== "",
    message: "must have no user name or password",
  },
  {
    is: (_, { protocol, hostname }) => protocol === "http:" && !LOCAL.includes(hostname),
    message: NO_ADDRESS,
  },
];

/** 400 for an address to which no person may be sent with a code. */
export function checkRedirectUri(text: string): void {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const problem = url ? REFUSALS.find(({ is }) => is(text, url))?.message : NO_ADDRESS;
  if (problem !== undefined) throw invalidField("/redirect_uri", `redirect_uri ${problem}`);
}
