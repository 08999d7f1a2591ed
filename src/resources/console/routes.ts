import type { Route } from "../../http/route.ts";
import { builtPageRoutes } from "../../http/views/built-pages.ts";
import { type Config, isSandboxed } from "../../runtime/config/config.ts";
import type { UserTokens } from "../../security/user-tokens.ts";

/** Allows this origin only, and no script or markup that is made from text. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "frame-ancestors 'none'",
  "form-action 'none'",
  "base-uri 'none'",
  "require-trusted-types-for 'script'",
].join("; ");

interface ConsoleParts {
  settings: Config;
  tokens: UserTokens;
}

/** The console. It is one document at every path: its script reads the section and the object from the address. */
export function consoleRoutes({ settings, tokens }: ConsoleParts): Route[] {
  // Without `issue` there is no login: the console names the identity provider whose tokens it takes.
  const provider = tokens.issue ? undefined : settings.JWT_ISSUER;
  return builtPageRoutes({
    name: "console",
    summary: "Show the console",
    pages: {
      "/console": "index.html",
      "/console/": "index.html",
      "/console/{section}": "index.html",
      "/console/{section}/": "index.html",
      "/console/{section}/{id}": "index.html",
    },
    assetsPath: "/console/assets",
    headers: {
      "Content-Security-Policy": CONTENT_SECURITY_POLICY,
      "Cross-Origin-Opener-Policy": "same-origin",
      "Cross-Origin-Resource-Policy": "same-origin",
      "Referrer-Policy": "no-referrer",
    },
    metas: {
      "herald-identity-provider": provider ?? "",
      "herald-sandbox": isSandboxed(settings, "CHAT_PLATFORM_URL") ? "true" : "",
    },
  });
}
