import type { AdAccount } from "../../built-in-assets.ts";
import { type AdObject, type AdObjects, type Level, nameOf } from "../objects/objects.ts";

/** The subject of a row: the account, or an object with its ancestors. */
export interface Subject {
  id: string;
  account: AdAccount;
  lineage: readonly AdObject[];
}

export const accountSubject = (account: AdAccount): Subject => ({ id: account.id, account, lineage: [] });

export const objectSubject = (objects: AdObjects, object: AdObject): Subject => ({
  id: object.id,
  account: object.account,
  lineage: objects.lineage(object),
});

const fieldAtLevel =
  (level: Level, show: (object: AdObject) => unknown) =>
  ({ lineage }: Subject) => {
    const object = lineage.find(({ kind }) => kind === level);
    return object && show(object);
  };

const idOf = ({ id }: AdObject) => id;

/** Fields of a row's subject. A field of a lower level than the row's is undefined. */
export const SUBJECT_FIELDS: Readonly<Record<string, (subject: Subject) => unknown>> = {
  account_id: ({ account }) => account.id,
  account_name: ({ account }) => account.name,
  account_currency: ({ account }) => account.currency,
  campaign_id: fieldAtLevel("campaign", idOf),
  campaign_name: fieldAtLevel("campaign", nameOf),
  objective: fieldAtLevel("campaign", ({ values }) => values.objective),
  buying_type: fieldAtLevel("campaign", ({ values }) => values.buying_type),
  adset_id: fieldAtLevel("adset", idOf),
  adset_name: fieldAtLevel("adset", nameOf),
  optimization_goal: fieldAtLevel("adset", ({ values }) => values.optimization_goal),
  ad_id: fieldAtLevel("ad", idOf),
  ad_name: fieldAtLevel("ad", nameOf),
};
