import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { Browser, BrowserContextOptions } from "playwright-core";
import { html } from "../../src/runtime/http/html.ts";
import { call, PICTURES, type Settings } from "./service.ts";

const PICTURES_OF_SIGNUP: readonly (BrowserContextOptions & { name: string })[] = [
  { name: "signup-phone", viewport: { width: 360, height: 740 } },
  { name: "signup-small", viewport: { width: 520, height: 420 } },
  { name: "signup-dark-system", viewport: { width: 760, height: 700 }, colorScheme: "dark" },
];

/** Takes the pictures of the signup page in a light host page. */
export async function takeSignupPictures(browser: Browser, settings: Settings): Promise<void> {
  let document = "";
  const server = createServer((_, response) =>
    response.setHeader("content-type", "text/html; charset=utf-8").end(document),
  );
  await new Promise<void>((resolve) => server.listen(0, "localhost", resolve));
  const origin = `http://localhost:${(server.address() as AddressInfo).port}`;
  for (const { name, ...options } of PICTURES_OF_SIGNUP) {
    document = hostPage(await createSession(settings, origin));
    const context = await browser.newContext({ ...options, reducedMotion: "reduce" });
    const page = await context.newPage();
    await page.goto(origin);
    await page.frameLocator("iframe").locator(".prefill").waitFor();
    await page.waitForLoadState("networkidle");
    await page.screenshot({ path: join(PICTURES, `${name}.png`) });
    await context.close();
  }
  server.close();
}

async function createSession(settings: Settings, origin: string): Promise<string> {
  const { url } = await call<{ url: string }>(settings, "/api/embed/sessions", {
    allowed_origins: [origin],
    platforms: ["chatapp", "photoapp", "socialapp"],
    prefill: {
      business: { name: "Sandbox Coffee Ltda", email: "coffee@example.com" },
      phone: { displayName: "Sandbox Coffee", category: "RESTAURANT" },
    },
  });
  return url;
}

/** A page of a client's product without a colour scheme of its own. */
const hostPage = (url: string): string =>
  html`<!doctype html>
<html lang="en">
<title>Host page</title>
<body style="margin: 0; background: #f3efe6">
<iframe src="${url}" title="Connect your business" style="width: 100%; height: 420px; border: 0"></iframe>
<script>
addEventListener("message", ({ data }) => {
  if (data.type === "resize") document.querySelector("iframe").style.height = data.height + "px";
});
</script>
</html>
`.text;
