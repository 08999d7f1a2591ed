import { isUtf8 } from "node:buffer";
import { fromJson } from "../wire/json.ts";
import { type Form, readForm } from "../wire/read-params.ts";

/** Makes a body readable: parses JSON and forms, keeps other text, reduces binary data to its size. */
export async function describeBody(contentType: string, body: Buffer): Promise<unknown> {
  if (body.length === 0) return null;
  if (/^multipart\/|^application\/x-www-form-urlencoded/i.test(contentType))
    return readForm(contentType, body).then(describeForm, () => asText(body));
  return /json/i.test(contentType) ? asJson(body) : asText(body);
}

const describeForm = (form: Form): unknown =>
  Object.fromEntries(
    [...form].map(([name, part]) => [
      name,
      typeof part === "string" ? part : { filename: part.name, type: part.type, bytes: part.size },
    ]),
  );

function asJson(body: Buffer): unknown {
  try {
    return fromJson(body.toString("utf8"));
  } catch {
    return asText(body);
  }
}

const asText = (body: Buffer): unknown => (isUtf8(body) ? body.toString("utf8") : { bytes: body.length });
