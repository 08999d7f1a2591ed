/** The environment of the tests, without the settings of the user who runs them. */
export function testEnvironment(extra: Record<string, string> = {}): Record<string, string> {
  const { PATH = "", HOME = "", CI, LANG } = process.env;
  return { PATH, HOME, ...(CI ? { CI } : {}), ...(LANG ? { LANG } : {}), ...extra };
}
