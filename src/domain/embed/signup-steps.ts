import { isPlatformId } from "../../runtime/ids.ts";
import type { Platform } from "../../schema/enumerations.ts";
import { openGrant } from "../../security/embed-tokens.ts";
import { assetIdOf } from "../channels/channels.ts";
import { chatSignup } from "./chat-signup.ts";
import { connectAsset, pauseSteps } from "./connect-asset.ts";
import { pageSignup } from "./page-signup.ts";
import { SignupError } from "./signup-error.ts";
import { checkGrant, type GrantedAsset, type SignupGrant, type SignupPlatform } from "./signup-platform.ts";
import { aboutRun, runSteps, type SignupParts, type SignupRun } from "./signup-run.ts";

/** A longer list of choices would be of no use to a person. */
const MAX_GRANTED_ASSETS = 200;

/** The steps after the dialog. With several assets the try waits for the person's choice. */
export const runGrantedSteps = (parts: SignupParts, run: SignupRun, code: string): Promise<void> =>
  runSteps(parts, run, async (runStep) => {
    const platform = platformOf(parts, run);
    const context = { parts, run, platform, runStep };
    const token = await runStep("exchange", () => platform.exchange(code));
    const inspection = await runStep("grant", async () => {
      const found = await platform.inspect(token);
      checkGrant(found, platform.permissions);
      return found;
    });
    const assets = await runStep("read", () => readAssets(platform, token, inspection));
    const { userId = "" } = inspection;
    const grant = { assets, ...(isPlatformId(userId) ? { platformUserId: userId } : {}) };
    if (assets.length === 1) return connectAsset(context, grant);
    const choices = JSON.stringify(assets.map(toChoice));
    return pauseSteps(context, grant, { phase: "choosing", choices, pinTriesLeft: null });
  });

/** Ends a try whose dialog led back with an error of the platform. */
export const failDialog = (parts: SignupParts, run: SignupRun): Promise<void> =>
  runSteps(parts, run, (runStep) =>
    runStep("exchange", async () => {
      throw new SignupError("platform_invalid_request", "The platform's dialog ended with an error");
    }),
  );

async function readAssets(
  platform: SignupPlatform,
  ...[token, inspection]: Parameters<SignupPlatform["list"]>
): Promise<GrantedAsset[]> {
  const assets = await platform.list(token, inspection);
  if (assets.length <= MAX_GRANTED_ASSETS) return assets;
  throw new SignupError(
    "platform_invalid_request",
    `More than ${MAX_GRANTED_ASSETS} numbers or pages were granted: grant only the one to connect`,
  );
}

/** The steps after the person's choice, which must be one of the offered assets. */
export const runChosenSteps = (parts: SignupParts, run: SignupRun, assetId: string): Promise<void> =>
  runSteps(parts, run, (runStep) => {
    const grant = grantOf(parts, run);
    const assets = grant.assets.filter(({ asset }) => assetIdOf(asset) === assetId);
    const context = { parts, run, platform: platformOf(parts, run), runStep };
    return connectAsset(context, { ...grant, assets });
  });

/** The steps after the person has entered the PIN of the number. */
export const runPinSteps = (parts: SignupParts, run: SignupRun, pin: string): Promise<void> =>
  runSteps(parts, run, (runStep) => {
    const context = { parts, run, platform: platformOf(parts, run), runStep };
    return connectAsset(context, grantOf(parts, run), pin);
  });

function platformOf({ platforms, redirectUri }: SignupParts, run: SignupRun): SignupPlatform {
  const platform = run.row.try_platform as Platform;
  const call = { redirectUri, about: aboutRun(run) };
  return platform === "chatapp"
    ? chatSignup(platforms.chat, call)
    : pageSignup(platforms.social, platform, call);
}

const toChoice = ({ asset, name, detail }: GrantedAsset) => ({
  asset_id: assetIdOf(asset),
  name,
  ...(detail === undefined ? {} : { detail }),
});

/** Only for a try that waited for the person, which always has a grant. */
const grantOf = ({ secretBox }: SignupParts, { row }: SignupRun): SignupGrant =>
  JSON.parse(openGrant(secretBox, row.id, row.grant_sealed as string));
