import { DIALOG_PERMISSIONS } from "../../domain/embed/page-signup.ts";
import type { Config } from "../../runtime/config/config.ts";
import { withQuery } from "../../runtime/with-query.ts";
import type { Platform } from "../../schema/enumerations.ts";

export type DialogSettings = Pick<
  Config,
  "SIGNUP_DIALOG_URL" | "SIGNUP_CONFIG_ID" | "PLATFORM_APP_ID" | "PUBLIC_URL"
>;

/** Where the platform's dialog leads back. The exchange of the code must repeat it exactly. */
export const redirectUriOf = ({ PUBLIC_URL }: Pick<Config, "PUBLIC_URL">): string =>
  `${PUBLIC_URL}/embed/callback`;

interface DialogInput {
  platform: Platform;
  state: string;
  /** JSON. */
  prefill: string | null;
}

/** The platform's dialog for one try. The chat platform takes a configuration instead of permissions. */
export function dialogUrl(settings: DialogSettings, { platform, state, prefill }: DialogInput): string {
  const common = {
    client_id: settings.PLATFORM_APP_ID,
    response_type: "code",
    redirect_uri: redirectUriOf(settings),
    state,
  };
  if (platform !== "chatapp")
    return withQuery(settings.SIGNUP_DIALOG_URL, { ...common, scope: DIALOG_PERMISSIONS.join(",") });
  return withQuery(settings.SIGNUP_DIALOG_URL, {
    ...common,
    config_id: settings.SIGNUP_CONFIG_ID,
    override_default_response_type: "true",
    extras: `{"setup":${prefill ?? "{}"}}`,
  });
}
