/**
 * Takes the pictures of the documentation, from a service with a demo client: `npm run screenshots`. An argument limits
 * them to one subject: `npm run screenshots -- signup`.
 */
import { mkdirSync } from "node:fs";
import { chromium } from "playwright-core";
import { CHROMIUM, ensurePrograms } from "../src/local/programs.ts";
import { takeConsolePictures } from "./screenshots/console.ts";
import { PICTURES, withService } from "./screenshots/service.ts";
import { takeSignupPictures } from "./screenshots/signup.ts";

const SUBJECTS = { console: takeConsolePictures, signup: takeSignupPictures };

const [chosen] = process.argv.slice(2);
if (chosen !== undefined && !Object.hasOwn(SUBJECTS, chosen))
  throw new Error(`there are no pictures of ${chosen}, but of ${Object.keys(SUBJECTS).join(" and ")}`);

await withService(async (settings) => {
  const programs = ensurePrograms([CHROMIUM], "", (line) => process.stdout.write(`${line}\n`));
  const executablePath = programs.get(CHROMIUM) as string;
  const browser = await chromium.launch({ executablePath, chromiumSandbox: false });
  mkdirSync(PICTURES, { recursive: true });
  for (const [name, takePictures] of Object.entries(SUBJECTS))
    if (chosen === undefined || chosen === name) await takePictures(browser, settings);
  await browser.close();
});
