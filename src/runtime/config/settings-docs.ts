import { SETTINGS, type Setting } from "./settings.ts";

const entries = () => Object.entries<Setting<unknown>>(SETTINGS);

function defaultOf({ fallback, fallbackLabel }: Setting<unknown>): string {
  if (fallbackLabel !== undefined) return fallbackLabel;
  if (fallback === "") return "empty";
  return typeof fallback === "string" ? `\`${fallback}\`` : "unset";
}

/** Name, default and meaning of each setting: the rows of the documentation's table. */
export const settingsRows = (): string[][] =>
  entries().map(([name, setting]) => [name, defaultOf(setting), setting.meaning]);

/** The text of `.env.example`: required settings to fill in, the others commented out with their defaults. */
export function exampleSettings(): string {
  const blocks = entries().map(([name, setting]) => {
    const { required, fallback, meaning } = setting;
    const value = typeof fallback === "string" ? fallback : "";
    const comment = `# ${meaning.replaceAll("`", "")}${required === "production" ? " (required in production)" : ""}`;
    return `${comment}\n${required === "always" ? `${name}=` : `# ${name}=${value}`}\n`;
  });
  return ["# Settings of Herald. docs/operate/settings.md describes them.\n", ...blocks].join("\n");
}
