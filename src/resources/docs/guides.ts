import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { packageRoot } from "../../runtime/package-root.ts";

/** A page of the documentation for integrators. */
export interface Guide {
  /** Its path in the repository. It is served there, so that the links between guides work, and without `.md`. */
  path: string;
  title: string;
  /** Its first sentence. */
  summary: string;
  text: string;
}

const FIRST_GUIDE = "quickstart.md";

/** Reads all guides and the description of the sandbox. */
export function readGuides(): Guide[] {
  const names = readdirSync(join(packageRoot(), "docs/guides")).sort();
  const others = names.filter((name) => name !== FIRST_GUIDE);
  return [...[FIRST_GUIDE, ...others].map((name) => `/docs/guides/${name}`), "/docs/sandbox.md"].map(
    readGuide,
  );
}

function readGuide(path: string): Guide {
  const text = readFileSync(join(packageRoot(), path), "utf8");
  const [heading = "", paragraph = ""] = text.split("\n\n");
  const [sentence = ""] = paragraph.replaceAll("\n", " ").split(". ");
  return { path, title: heading.replace("# ", ""), summary: sentence.replace(/\.$/, ""), text };
}

interface LlmsTextParts {
  publicUrl: string;
  guides: readonly Guide[];
}

/** The summary of the service for language models, in the format of https://llmstxt.org. */
export const llmsText = ({ publicUrl, guides }: LlmsTextParts): string =>
  `# Herald

> Herald is a multi-tenant backend for messaging and advertising. It sends messages through chat, photo and social
> channels, forwards the platforms' webhooks to your backend as signed events, and manages ad accounts and ads.

The base URL of the API is ${publicUrl}. Send exactly one credential with each request: the header
\`x-svc-api-key: <API key>\` from a backend, or \`Authorization: Bearer <user token>\` for a person.
\`GET /api/auth/me\` shows the client and the scopes of a credential.

Bodies are JSON. Unknown fields are rejected. Every response with a status of 400 or above has the body
\`{ "error", "message", "details", "request_id" }\`; \`error\` is a stable code. Events that Herald sends to your backend are
signed as defined by Standard Webhooks.

## API

- [OpenAPI document](${publicUrl}/api/openapi.json): all operations, schemas and errors, with examples
- [API reference](${publicUrl}/api/docs): the same as an interactive page

## Guides

${guides.map(({ path, title, summary }) => `- [${title}](${publicUrl}${path}): ${summary}`).join("\n")}
`;
