/** A type and a subtype, perhaps with parameters: nothing that a header, or a form beside a file, could not carry. */
export const isMediaType = (text: string): boolean =>
  /^[a-z0-9][\w!#$&^.+-]*\/[a-z0-9][\w!#$&^.+-]*\s*(;[\t\x20-\x7e]*)?$/i.test(text);
