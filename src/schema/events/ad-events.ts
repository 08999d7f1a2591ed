import { adAccount, insightsReportRun } from "../ads.ts";
import { AD_ACCOUNT_STATUSES } from "../enumerations.ts";
import { object, oneOf, optional, type TProperties, Type, text, timestamp } from "../types.ts";
import { AD_ACCOUNT_ENVELOPE, EXAMPLE_AD_ACCOUNT, eventPayload } from "./envelope.ts";

const previousStatus = oneOf(AD_ACCOUNT_STATUSES, { description: "Herald's status before the event" });

/** The account after the event. */
const accountData = (title: string, extraFields: TProperties) =>
  object({ ad_account: adAccount, ...extraFields }, { title });

const ACCOUNT = {
  id: "5f0c7a52-8a4e-4c39-9d1c-3f2b7e6a1d90",
  ad_account_id: EXAMPLE_AD_ACCOUNT,
  account_id: "1600000000000101",
  name: "Sandbox Coffee",
  currency: "BRL",
  timezone_name: "America/Sao_Paulo",
  account_status: 1,
  account_status_label: "active",
  status: "active",
  token_expires_at: null,
  last_synced_at: "2026-11-01T09:30:00.000Z",
  created_at: "2026-10-01T12:00:00.000Z",
};

const accountExample = (data: object = {}, changes: object = {}) => ({
  ad_account_id: EXAMPLE_AD_ACCOUNT,
  data: { ad_account: { ...ACCOUNT, ...changes }, ...data },
});

const example = (data: object) => ({ ad_account_id: EXAMPLE_AD_ACCOUNT, data });

const objectFields = {
  object_id: text("120210000000000101", "The campaign, ad set or ad"),
  level: Type.Optional(text("CAMPAIGN", "CAMPAIGN, AD_SET or AD")),
};

const reportedEnvelope = { ...AD_ACCOUNT_ENVELOPE, sometimes: ["raw"] } as const;

export const AD_PAYLOADS = {
  "ad_account.connected": eventPayload("ad_account.connected", {
    ...AD_ACCOUNT_ENVELOPE,
    data: accountData("ConnectedAdAccountData", { previous_status: Type.Optional(previousStatus) }),
    example: accountExample({}, { status: "available" }),
  }),
  "ad_account.updated": eventPayload("ad_account.updated", {
    ...AD_ACCOUNT_ENVELOPE,
    data: accountData("UpdatedAdAccountData", { previous_status: Type.Optional(previousStatus) }),
    example: accountExample({}, { account_status: 3, account_status_label: "unsettled" }),
  }),
  "ad_account.revoked": eventPayload("ad_account.revoked", {
    ...AD_ACCOUNT_ENVELOPE,
    data: accountData("RevokedAdAccountData", { previous_status: previousStatus }),
    example: accountExample({ previous_status: "active" }, { status: "revoked" }),
  }),
  "ad_account.token_expiring": eventPayload("ad_account.token_expiring", {
    ...AD_ACCOUNT_ENVELOPE,
    data: accountData("ExpiringTokenData", {
      expires_at: timestamp(),
      days_left: Type.Integer({ examples: [7] }),
    }),
    example: accountExample({ expires_at: "2026-11-08T09:00:00.000Z", days_left: 7 }),
  }),
  "ad_object.status_changed": eventPayload("ad_object.status_changed", {
    ...reportedEnvelope,
    data: object(
      {
        ...objectFields,
        status: Type.Optional(text("Active", "Absent when the platform reports only the change")),
      },
      { title: "AdObjectStatusData" },
    ),
    example: {
      ...example({ object_id: "120210000000000101", level: "CAMPAIGN", status: "Active" }),
      raw: { id: "120210000000000101", level: "CAMPAIGN", status_name: "Active" },
    },
  }),
  "ad_object.with_issues": eventPayload("ad_object.with_issues", {
    ...reportedEnvelope,
    data: object(
      {
        ...objectFields,
        ...optional({ error_code: text("1815869"), message: text("The ad was disapproved") }),
      },
      { title: "AdObjectIssuesData" },
    ),
    example: {
      ...example({
        object_id: "120210000000000301",
        level: "AD",
        error_code: "1815869",
        message: "Ad disapproved",
      }),
      raw: { id: "120210000000000301", level: "AD", error_code: 1815869, error_summary: "Ad disapproved" },
    },
  }),
  "creative.fatigue": eventPayload("creative.fatigue", {
    ...reportedEnvelope,
    data: object(
      {
        ad_id: text("120210000000000301"),
        ...optional({ level: text("HIGH"), message: text("Creative fatigue") }),
      },
      { title: "CreativeFatigueData" },
    ),
    example: {
      ...example({ ad_id: "120210000000000301", level: "HIGH" }),
      raw: { adgroup_id: "120210000000000301", creative_fatigue_level: "HIGH" },
    },
  }),
  "insights.report.completed": eventPayload("insights.report.completed", {
    ...AD_ACCOUNT_ENVELOPE,
    data: insightsReportRun,
    example: example({
      report_run_id: "6023920149050",
      async_status: "Job Completed",
      async_percent_completion: 100,
    }),
  }),
  "insights.report.failed": eventPayload("insights.report.failed", {
    ...AD_ACCOUNT_ENVELOPE,
    data: insightsReportRun,
    example: example({
      report_run_id: "6023920149050",
      async_status: "Job Failed",
      async_percent_completion: 40,
      error_message: "Reduce the amount of data you request.",
    }),
  }),
};
