/** The environment of the tests: settings of whoever runs them must not reach into it. */
export function testEnvironment(extra: Record<string, string> = {}): Record<string, string> {
  const { PATH = "", HOME = "", CI, LANG } = process.env;
  return { PATH, HOME, ...(CI ? { CI } : {}), ...(LANG ? { LANG } : {}), ...extra };
}
