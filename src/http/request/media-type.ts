/**
 * True for `type/subtype` with optional parameters, in characters that are safe in a header or form field.
 */
export const isMediaType = (text: string): boolean =>
  /^[a-z0-9][\w!#$&^.+-]*\/[a-z0-9][\w!#$&^.+-]*\s*(;[\t\x20-\x7e]*)?$/i.test(text);
