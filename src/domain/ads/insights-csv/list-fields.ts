/** How the names of the platform's list fields end. */
const LIST_FIELD_ENDINGS = ["actions", "action_values", "action_type", "_roas", "outbound_clicks"];

/** Further list fields. A list field without entries is absent from the rows, so its name must tell. */
const LIST_FIELDS: ReadonlySet<string> = new Set([
  "conversions",
  "conversion_values",
  "cost_per_conversion",
  "cost_per_outbound_click",
  "cost_per_thruplay",
  "cost_per_unique_outbound_click",
  "outbound_clicks_ctr",
  "unique_outbound_clicks_ctr",
  "website_ctr",
]);

/** True for fields whose value is a list of `{ action_type, value }`. */
export const isKnownListField = (name: string): boolean =>
  LIST_FIELDS.has(name) || LIST_FIELD_ENDINGS.some((ending) => name.endsWith(ending));

const ATTRIBUTION_WINDOW = /^(?:\d+d_[a-z_]+|skan_[a-z_]+|dda|default|inline)$/;

/** True for the keys of an entry that hold its value for one attribution window, such as `7d_click`. */
export const isAttributionWindow = (name: string): boolean => ATTRIBUTION_WINDOW.test(name);

/** The column of an attribution window within those of its list field. */
export const windowColumn = (type: string, window: string): string => `${type}.${window}`;
