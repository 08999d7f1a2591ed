import { ApiError, invalidField, notFound } from "./api-error.ts";

export const channelNotFound = (): ApiError => notFound("channel");

export const channelNotConnected = (status: string): ApiError =>
  new ApiError(
    "channel_disconnected",
    status === "needs_reauth"
      ? "The platform no longer accepts the channel's token: reconnect the channel"
      : "The channel is disconnected: reconnect it",
  );

/** The result of openChatChannel. */
type ChatChannelOutcome<A> =
  | { outcome: "opened"; access: A }
  | { outcome: "not_found" }
  | { outcome: "wrong_platform"; platform: string }
  | { outcome: "not_connected"; status: string };

/** 404 for an unknown channel, 400 for a channel of another platform, 409 for one that is not connected. */
export function requireOpened<A>(opened: ChatChannelOutcome<A>): A {
  switch (opened.outcome) {
    case "opened":
      return opened.access;
    case "not_found":
      throw channelNotFound();
    case "wrong_platform":
      throw invalidField(
        "/channel_id",
        `channel_id must be a chatapp channel, not a ${opened.platform} channel`,
      );
    case "not_connected":
      throw channelNotConnected(opened.status);
  }
}
