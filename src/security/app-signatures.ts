import { createHmac } from "node:crypto";
import { parseJson } from "../runtime/json/json.ts";
import { withoutTrailing } from "../runtime/without-trailing.ts";
import { isSameText } from "./same-text.ts";

/** Verifies what a platform signs with the secret of Herald's app. */
export interface AppSignatures {
  /** True when the header can be a signature: a body need not be read for any other. */
  isSignature(header: string | undefined): boolean;
  /** True when the signature header matches the body. */
  isSigned(body: Buffer, header: string | undefined): boolean;
  /** Returns the content of a signed request; undefined when it is malformed or its signature is invalid. */
  parseSignedRequest(text: string): Record<string, unknown> | undefined;
}

export function createAppSignatures(secret: string): AppSignatures {
  const mac = (content: Buffer | string, encoding: "hex" | "base64url") =>
    createHmac("sha256", secret).update(content).digest(encoding);
  return {
    isSignature: (header) => header !== undefined && /^sha256=[0-9a-f]{64}$/.test(header),
    isSigned: (body, header) => header !== undefined && isSameText(header, `sha256=${mac(body, "hex")}`),
    parseSignedRequest(text) {
      const [signature = "", content = "", ...rest] = text.split(".");
      if (rest.length > 0 || !isSameText(withoutTrailing(signature, "="), mac(content, "base64url")))
        return undefined;
      return parseObject(Buffer.from(content, "base64url").toString());
    },
  };
}

function parseObject(json: string): Record<string, unknown> | undefined {
  try {
    const value = parseJson(json); // ids may be integers that JSON.parse would round
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
