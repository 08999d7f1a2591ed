import { REPORT_STATUSES } from "./ad-enumerations.ts";
import { knownOrOther, object, oneOf, optional, Type, text } from "./types.ts";

export const insightsReportRun = object(
  {
    report_run_id: text("6023920149050", "The ad platform deletes the run and its rows after 30 days"),
    async_status: knownOrOther(oneOf(REPORT_STATUSES, { examples: ["Job Running"] })),
    async_percent_completion: Type.Number({
      minimum: 0,
      maximum: 100,
      examples: [40],
      description: "A run at 100 may still be running: only `async_status` says that it has completed",
    }),
    ...optional({
      error_code: Type.Number({ examples: [100], description: "Present only if the run failed" }),
      error_message: text("Reduce the amount of data you request.", "Present only if the run failed"),
    }),
  },
  { title: "InsightsReportRunDto" },
);
