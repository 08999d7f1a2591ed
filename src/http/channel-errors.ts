import { ApiError, invalidField, notFound } from "./api-error.ts";

export const channelNotFound = (): ApiError => notFound("channel");

export const channelNotConnected = (status: string): ApiError =>
  new ApiError(
    "channel_disconnected",
    status === "needs_reauth"
      ? "The platform takes the channel's token no more: connect it again"
      : "The channel is disconnected: connect it again",
  );

/** Opening a channel of the chat platform, as its domain function answers it. */
type ChatChannelOutcome<A> =
  | { outcome: "opened"; access: A }
  | { outcome: "not_found" }
  | { outcome: "wrong_platform"; platform: string }
  | { outcome: "not_connected"; status: string };

/** 404 for a channel that the client does not have, 400 for one of another platform, 409 for one that is not connected. */
export function requireOpened<A>(opened: ChatChannelOutcome<A>): A {
  switch (opened.outcome) {
    case "opened":
      return opened.access;
    case "not_found":
      throw channelNotFound();
    case "wrong_platform":
      throw invalidField(
        "/channel_id",
        `channel_id must name a chatapp channel, not one of ${opened.platform}`,
      );
    case "not_connected":
      throw channelNotConnected(opened.status);
  }
}
