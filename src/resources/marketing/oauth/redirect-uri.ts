import { invalidField } from "../../../http/api-error.ts";

const INVALID_ADDRESS_MESSAGE = "must be an https address, or an http one on localhost";
const LOCAL_HOSTS = ["localhost", "127.0.0.1", "[::1]"];

/** What a person cannot be sent back to, in the order of telling. It is passed on to the letter, so nothing is mended. */
const REDIRECT_URI_PROBLEMS: readonly { applies(text: string, url: URL): boolean; message: string }[] = [
  { applies: (text) => !/^https?:\/\/[^/\\]/i.test(text), message: INVALID_ADDRESS_MESSAGE },
  {
    applies: (text) => !/^[\x21-\x7e]+$/.test(text),
    message: "must be encoded: visible ASCII characters alone",
  },
  { applies: (text) => text.includes("#"), message: "must have no fragment" },
  {
    applies: (_, { username, password }) => username + password !== "",
    message: "must have no user name or password",
  },
  {
    applies: (_, { protocol, hostname }) => protocol === "http:" && !LOCAL_HOSTS.includes(hostname),
    message: INVALID_ADDRESS_MESSAGE,
  },
];

/** 400 for an address to which no person may be sent with a code. */
export function checkRedirectUri(text: string): void {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const problem = url
    ? REDIRECT_URI_PROBLEMS.find(({ applies }) => applies(text, url))?.message
    : INVALID_ADDRESS_MESSAGE;
  if (problem !== undefined) throw invalidField("/redirect_uri", `redirect_uri ${problem}`);
}
