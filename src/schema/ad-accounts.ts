import { AD_ACCOUNT_LABELS, AD_ACCOUNT_STATUSES } from "./enumerations.ts";
import { object, oneOf, type Static, Type, timestamp } from "./types.ts";

const text = (example: string, description?: string) =>
  Type.String({ examples: [example], ...(description ? { description } : {}) });

export const adAccount = object(
  {
    id: Type.String({ format: "uuid", examples: ["5f0c7a52-8a4e-4c39-9d1c-3f2b7e6a1d90"] }),
    ad_account_id: text("act_1600000000000101", "The ad platform's id"),
    account_id: text("1600000000000101", "The same without its prefix"),
    name: text("Sandbox Coffee"),
    currency: text("BRL"),
    timezone_name: text("America/Sao_Paulo"),
    account_status: Type.Integer({ description: "The platform's own number", examples: [1] }),
    account_status_label: oneOf([...Object.values(AD_ACCOUNT_LABELS), "unknown"], {
      description: "What that number means there",
    }),
    business_id: Type.Optional(
      text(
        "1700000000000009",
        "Absent for a personal account, and without the permission business_management",
      ),
    ),
    business_name: Type.Optional(text("Sandbox Coffee Ltda", "Absent where the platform does not tell it")),
    status: oneOf(AD_ACCOUNT_STATUSES, {
      description:
        "The service's own state. `available`: granted, not chosen. `active`: operates. `disabled`: paused. `revoked`: the platform takes its token no more, connect it again",
      examples: ["active"],
    }),
    last_synced_at: timestamp(),
    created_at: timestamp(),
  },
  { title: "AdAccountDto" },
);

export type AdAccountDto = Static<typeof adAccount>;
