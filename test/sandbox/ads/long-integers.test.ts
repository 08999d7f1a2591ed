import t from "tap";
import {
  AD_ACCOUNT_ID,
  type AdPlatform,
  DEMO_ADS_TOKEN,
  startAdPlatform,
  VALID_FORMS,
} from "../../fixtures/sandbox/ad-platform.ts";
import { callSandbox, proofFor } from "../../fixtures/sandbox/sandbox.ts";

const TARGETING =
  '{"geo_locations":{"countries":["BR"]},"interests":[{"id":60031394100000000001,"name":"1e20"},{"id":9007199254740993}]}';
const PROMOTED_OBJECT = '{"pixel_id":12345678901234567890}';
const STORY =
  '{"page_id":120000000000000000007,"link_data":{"link":"https://shop.example/","child_attachments":[{"place_id":9007199254740993}]}}';

/** Parameters per edge, as JSON texts that contain integers above 2^53. */
const CASES = {
  adsets: { targeting: TARGETING, promoted_object: PROMOTED_OBJECT },
  adcreatives: { object_story_spec: STORY },
} as const;

type Edge = keyof typeof CASES;

/** The name and value of each field as JSON, without parsing the values. */
const toJsonText = (fields: Record<string, string>) =>
  Object.entries(fields)
    .map(([name, value]) => `"${name}":${value}`)
    .join(",");

/** The form's values that the case leaves as they are. */
async function otherValues(ads: AdPlatform, edge: Edge): Promise<Record<string, string>> {
  const form = {
    ...VALID_FORMS[edge],
    ...(edge === "adsets" && { campaign_id: await ads.create("campaigns") }),
  };
  return Object.fromEntries(Object.entries(form).filter(([name]) => !(name in CASES[edge])));
}

/** Reads the fields as text, because parsing would round the integers. */
async function readText(ads: AdPlatform, id: string, fields: readonly string[]): Promise<string> {
  const url = new URL(`${ads.base}/${id}`);
  const query = {
    fields: fields.join(),
    access_token: DEMO_ADS_TOKEN,
    appsecret_proof: proofFor(DEMO_ADS_TOKEN),
  };
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  return (await fetch(url)).text();
}

const CONTENT_TYPES = { form: "application/x-www-form-urlencoded", "JSON body": "application/json" };

for (const edge of ["adsets", "adcreatives"] as const)
  for (const [encoding, type] of Object.entries(CONTENT_TYPES)) {
    const fields = CASES[edge];
    const names = Object.keys(fields);
    t.test(`long integers in ${names.join(" and ")} are shown as written in a ${encoding}`, async (t) => {
      const ads = await startAdPlatform(t);
      const others = await otherValues(ads, edge);
      const quoted = Object.entries(others).map(([name, value]) => [name, JSON.stringify(value)]);
      const body =
        encoding === "form"
          ? new URLSearchParams({ ...others, ...fields }).toString()
          : `{${toJsonText({ ...Object.fromEntries(quoted), ...fields })}}`;
      const created = await callSandbox(`${ads.base}/${AD_ACCOUNT_ID}/${edge}`, {
        token: DEMO_ADS_TOKEN,
        headers: { "content-type": type },
        body,
      });
      const { id } = created.body;
      t.equal(await readText(ads, id, names), `{${toJsonText({ ...fields, id: `"${id}"` })}}`);
    });
  }
