import { readFileSync } from "node:fs";
import { join } from "node:path";
import { packageRoot } from "../../runtime/package-root.ts";

/** A document for integrators or operators. */
export interface Guide {
  /** The path of its Markdown, in the repository and on the service, so that links between documents work. */
  path: string;
  /** The path of its HTML page: the same without `.md`. */
  page: string;
  title: string;
  /** What its first sentence says about it. */
  summary: string;
  text: string;
}

export interface GuideGroup {
  title: string;
  guides: Guide[];
}

/** The groups and the order of all documents that the service shows. */
const NAVIGATION = "docs/navigation.json";

export function readGuideGroups(): GuideGroup[] {
  const navigation = JSON.parse(readFileSync(join(packageRoot(), NAVIGATION), "utf8")) as readonly {
    title: string;
    documents: readonly string[];
  }[];
  return navigation.map(({ title, documents }) => ({ title, guides: documents.map(readGuide) }));
}

function readGuide(document: string): Guide {
  const path = `/docs/${document}`;
  const text = readFileSync(join(packageRoot(), path), "utf8");
  const [heading = "", paragraph = ""] = text.split("\n\n");
  const [sentence = ""] = paragraph.replaceAll("\n", " ").split(". ");
  return {
    path,
    page: path.replace(/\.md$/, ""),
    title: heading.replace("# ", ""),
    summary: sentence
      .replace(/^This page (\w)/, (_, letter: string) => letter.toUpperCase())
      .replace(/\.$/, ""),
    text,
  };
}

interface LlmsTextParts {
  publicUrl: string;
  groups: readonly GuideGroup[];
}

/** The summary of the service for language models, in the format of https://llmstxt.org. */
export const llmsText = ({ publicUrl, groups }: LlmsTextParts): string =>
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
- [Guides](${publicUrl}/docs/): the guides below and those for operators, as pages for people

${groups.map((group) => guideList(group, publicUrl)).join("\n")}`;

const guideList = ({ title, guides }: GuideGroup, publicUrl: string): string => `## ${title}

${guides.map(({ path, title, summary }) => `- [${title}](${publicUrl}${path}): ${summary}`).join("\n")}
`;
