import type { Config } from "../runtime/config/config.ts";
import { withoutTrailing } from "../runtime/http/addresses.ts";
import type { Log } from "../runtime/log.ts";
import { createOwnership } from "./ads/access.ts";
import { type AdAccounts, createAdAccounts } from "./ads/accounts.ts";
import { createInsights, type Insights } from "./ads/insights.ts";
import { type AdMedia, createAdMedia } from "./ads/media.ts";
import { type AdObjects, createAdObjects } from "./ads/objects.ts";
import { type ChatMedia, createChatMedia } from "./chat/media.ts";
import { type ChatMessages, createChatMessages } from "./chat/messages.ts";
import { type ChatNumbers, createChatNumbers } from "./chat/numbers.ts";
import { createTemplates, type Templates } from "./chat/templates.ts";
import { createPlatformClient, type RecordCall } from "./client/client.ts";
import type { PauseStore } from "./client/pauses.ts";
import { createTransport } from "./client/transport.ts";
import { createPageMessages, type PageMessages } from "./pages/messages.ts";
import { createPages, type Pages } from "./pages/pages.ts";
import { createPlatformTokens, type PlatformTokens } from "./tokens.ts";

type Settings = Pick<
  Config,
  | "AD_PLATFORM_URL"
  | "CHAT_PLATFORM_URL"
  | "PHOTO_PLATFORM_URL"
  | "SOCIAL_PLATFORM_URL"
  | "PLATFORM_APP_ID"
  | "PLATFORM_APP_SECRET"
  | "PLATFORM_MEDIA_HOSTS"
>;

/** Clients for all platform APIs. */
export interface Platforms {
  ads: {
    tokens: PlatformTokens;
    accounts: AdAccounts;
    objects: AdObjects;
    media: AdMedia;
    insights: Insights;
  };
  chat: {
    tokens: PlatformTokens;
    templates: Templates;
    messages: ChatMessages;
    media: ChatMedia;
    numbers: ChatNumbers;
  };
  photo: { messages: PageMessages };
  /** Photo accounts are connected through their pages, so they use these tokens and pages. */
  social: { tokens: PlatformTokens; pages: Pages; messages: PageMessages };
  /** Closes the keep-alive connections. */
  close(): void;
}

interface PlatformsParts {
  pauses: PauseStore;
  log: Log;
  recordCall?: RecordCall;
  /** True for a process of background jobs, which pause while the app's limit is used up. */
  isBackground?: boolean;
}

export function createPlatforms(settings: Settings, parts: PlatformsParts): Platforms {
  const app = { id: settings.PLATFORM_APP_ID, secret: settings.PLATFORM_APP_SECRET };
  const transport = createTransport();
  const clientOf = (name: string, address: string) =>
    createPlatformClient({ name, address: withoutTrailing(address, "/"), app, transport, ...parts });
  const ads = clientOf("ads", settings.AD_PLATFORM_URL);
  const chat = clientOf("chat", settings.CHAT_PLATFORM_URL);
  const photo = clientOf("photo", settings.PHOTO_PLATFORM_URL);
  const social = clientOf("social", settings.SOCIAL_PLATFORM_URL);
  const ownership = createOwnership(ads);
  return {
    ads: {
      tokens: createPlatformTokens(ads),
      accounts: createAdAccounts(ads),
      objects: createAdObjects(ads, ownership),
      media: createAdMedia(ads, ownership),
      insights: createInsights(ads, ownership),
    },
    chat: {
      tokens: createPlatformTokens(chat),
      templates: createTemplates(chat),
      messages: createChatMessages(chat),
      media: createChatMedia(chat, settings.PLATFORM_MEDIA_HOSTS),
      numbers: createChatNumbers(chat),
    },
    photo: { messages: createPageMessages(photo, "instagram") },
    social: {
      tokens: createPlatformTokens(social),
      pages: createPages(social),
      messages: createPageMessages(social, "messenger"),
    },
    close: transport.close,
  };
}
