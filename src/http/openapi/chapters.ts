/** The chapters of the documentation in their order, each in one sentence. A route names its chapter as its tag. */
export const CHAPTERS: Readonly<Record<string, string>> = {
  Service: "Whether the service lives and is ready, what it measures, and this description of it.",
};
