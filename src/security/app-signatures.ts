import { createHmac } from "node:crypto";
import { parseJson } from "../runtime/json/json.ts";
import { isSameText } from "./same-text.ts";

/** What the platform signs with the secret of our app at it. */
export interface AppSignatures {
  /** Whether these bytes came from the platform, by its header. */
  isSigned(body: Buffer, header: string | undefined): boolean;
  /** What a signed request says; undefined when it is not one, or not signed for us. */
  parseSignedRequest(text: string): Record<string, unknown> | undefined;
}

export function createAppSignatures(secret: string): AppSignatures {
  const mac = (content: Buffer | string, encoding: "hex" | "base64url") =>
    createHmac("sha256", secret).update(content).digest(encoding);
  return {
    isSigned: (body, header) => header !== undefined && isSameText(header, `sha256=${mac(body, "hex")}`),
    parseSignedRequest(text) {
      const [signature = "", content = "", ...rest] = text.split(".");
      if (rest.length > 0 || !isSameText(signature.replace(/=+$/, ""), mac(content, "base64url")))
        return undefined;
      return parseObject(Buffer.from(content, "base64url").toString());
    },
  };
}

function parseObject(json: string): Record<string, unknown> | undefined {
  try {
    const value = parseJson(json); // ids may be numbers, too long for JSON.parse
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
