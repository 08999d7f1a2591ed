import { WABAS } from "../../built-in-assets.ts";

const TEXT =
  "Welcome and congratulations!! This message demonstrates your ability to send a message notification from the Cloud API.";

const SAMPLE = {
  name: "hello_world",
  language: "en_US",
  category: "UTILITY",
  parameter_format: "POSITIONAL",
  components: [
    { type: "HEADER", format: "TEXT", text: "Hello World" },
    { type: "BODY", text: TEXT },
    { type: "FOOTER", text: "Sample message" },
  ],
  status: "APPROVED",
  rejected_reason: "NONE",
  quality_score: { score: "UNKNOWN" },
} as const;

/** The template that the platform adds to every account, approved from the start. */
export const sampleTemplates = () =>
  WABAS.map(({ id }, index) => ({
    ...SAMPLE,
    id: `170000000000060${index + 1}`,
    waba: id,
    changed: 1_790_000_000_000,
  }));
