import { asList, asObject, lookUp, omitNullish, textOf } from "../client/json-values.ts";
import type { Reader } from "./reading.ts";

/** Maps the levels of `field_changed` to the spelling the other fields use. */
const LEVELS: Readonly<Record<string, string>> = { campaign: "CAMPAIGN", adset: "AD_SET", ad: "AD" };

/** Readers for ad account webhooks, by field name. */
export const AD_NOTICES: Readonly<Record<string, Reader>> = {
  with_issues_ad_objects(rawValue) {
    const { id, level, error_code, error_message, error_summary } = asObject(rawValue);
    const objectId = textOf(id);
    if (objectId === undefined) return "unknown";
    const message = textOf(error_message) ?? textOf(error_summary);
    const rest = { level: textOf(level), error_code: textOf(error_code), message };
    return { type: "ad_object.with_issues", data: { object_id: objectId, ...omitNullish(rest) } };
  },
  in_process_ad_objects(rawValue) {
    const { id, level, status_name } = asObject(rawValue);
    const objectId = textOf(id);
    if (objectId === undefined) return "unknown";
    const rest = { level: textOf(level), status: textOf(status_name) };
    return { type: "ad_object.status_changed", data: { object_id: objectId, ...omitNullish(rest) } };
  },
  /** Reports that the status changed, but not to which value. */
  field_changed(rawValue) {
    const { object_id, object_type, changed_fields } = asObject(rawValue);
    const objectId = textOf(object_id);
    if (objectId === undefined || !asList(changed_fields).includes("effective_status")) return "unknown";
    const level = textOf(object_type);
    const rest = { level: level && (lookUp(LEVELS, level) ?? level) };
    return { type: "ad_object.status_changed", data: { object_id: objectId, ...omitNullish(rest) } };
  },
  creative_fatigue(rawValue) {
    const { adgroup_id, creative_fatigue_level, creative_fatigue_message } = asObject(rawValue);
    const adId = textOf(adgroup_id);
    if (adId === undefined) return "unknown";
    const rest = { level: textOf(creative_fatigue_level), message: textOf(creative_fatigue_message) };
    return { type: "creative.fatigue", data: { ad_id: adId, ...omitNullish(rest) } };
  },
};
