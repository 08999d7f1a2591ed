import { REPORT_STATUSES } from "./ad-enumerations.ts";
import { AD_ACCOUNT_LABELS, AD_ACCOUNT_STATUSES } from "./enumerations.ts";
import {
  knownOrOther,
  nullable,
  object,
  oneOf,
  optional,
  type Static,
  Type,
  text,
  timestamp,
} from "./types.ts";

export const adAccount = object(
  {
    id: Type.String({ format: "uuid", examples: ["5f0c7a52-8a4e-4c39-9d1c-3f2b7e6a1d90"] }),
    ad_account_id: text("act_1600000000000101", "The ad platform's id of the account"),
    account_id: text("1600000000000101", "The ad platform's id without the `act_` prefix"),
    name: text("Sandbox Coffee"),
    currency: text("BRL"),
    timezone_name: text("America/Sao_Paulo"),
    account_status: Type.Integer({ description: "The ad platform's status number", examples: [1] }),
    account_status_label: oneOf([...Object.values(AD_ACCOUNT_LABELS), "unknown"], {
      description: "The name of that status; `unknown` for a number that Herald does not know",
    }),
    business_id: Type.Optional(
      text(
        "1700000000000009",
        "Absent for a personal account, or without the permission business_management",
      ),
    ),
    business_name: Type.Optional(text("Sandbox Coffee Ltda", "Absent when the platform does not return it")),
    status: oneOf(AD_ACCOUNT_STATUSES, {
      description:
        "Herald's status of the account. `available`: granted but not activated. `active`: in use. `disabled`: paused. `revoked`: the platform rejects its token; connect the account again",
      examples: ["active"],
    }),
    token_expires_at: nullable(
      timestamp({
        description:
          "When the token that reaches the account expires: connect the account again before. Null when it does not expire, or the account is revoked",
      }),
    ),
    last_synced_at: timestamp(),
    created_at: timestamp(),
  },
  { title: "AdAccountDto" },
);

export type AdAccountDto = Static<typeof adAccount>;

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
