import type { Texts } from "../page-data.ts";

const EXPIRED = {
  heading: "This link has expired",
  body: "For your safety, the link works only for a short time. Ask the company that gave it to you for a new one.",
};

const REVOKED = {
  heading: "This link is no longer valid",
  body: "The company that gave you this link has withdrawn it. Ask them for a new one.",
};

export const EN: Texts = {
  title: "Connect your business",
  noScript: "This page needs JavaScript. Switch it on in your browser and load the page again.",
  prefill: {
    name: "Business name",
    email: "Email",
    website: "Website",
    displayName: "Name shown to customers",
    category: "Category",
  },
  page: {
    start: {
      heading: "Connect your business",
      body: "A window opens: sign in there and allow access. This takes about two minutes. We never see your password.",
      prefill: "Filled in for you",
      prefillUse:
        "When you connect a phone number, the window already contains these details. You can change them there.",
    },
    platforms: {
      chatapp: { name: "Chat", action: "Connect a phone number" },
      photoapp: { name: "Photos", action: "Connect a photo account" },
      socialapp: { name: "Social", action: "Connect a page" },
    },
    progress: { label: "Progress", access: "Allow access", connect: "Connect", done: "Done" },
    waiting: {
      heading: "Continue in the new window",
      body: "Sign in there and allow access. When you have finished, this page continues by itself.",
      status: "Waiting for the new window …",
      closed:
        "The window seems to be closed. If you closed it before you had finished, press “I closed the window”.",
      reopen: "Open the window again",
      iClosed: "I closed the window",
    },
    blocked: {
      heading: "Your browser blocked the new window",
      body: "Open it with this button. When you have finished there, come back to this page.",
      open: "Open the window",
      hint: "If nothing opens, allow pop-ups for this site in your browser's settings and load the page again.",
    },
    connecting: {
      heading: "We are connecting your account",
      body: "This usually takes a few seconds. Please keep this page open.",
      status: "Connecting …",
    },
    choosing: {
      heading: {
        chatapp: "Which phone number do you want to connect?",
        photoapp: "Which photo account do you want to connect?",
        socialapp: "Which page do you want to connect?",
      },
      body: "You can connect one now.",
      confirm: "Connect",
    },
    pin: {
      heading: "Enter the PIN of this number",
      body: "The number is protected by two-step verification. Enter the 6-digit PIN that you or a colleague chose for it.",
      label: "6-digit PIN",
      confirm: "Continue",
      format: "The PIN has exactly 6 digits.",
      wrong: "This PIN is not correct.",
      left: { 1: "You have 1 try left.", 2: "You have 2 tries left." },
    },
    completed: {
      heading: "Connected",
      body: "You are done. Your messages are set up now, and you can leave this page.",
    },
    failed: {
      heading: "The connection did not work",
      steps: {
        exchange:
          "Your permission could not be confirmed, perhaps because the window was open for too long. Please try again.",
        grant:
          "Some of the access that we need was not allowed. Please try again and leave all permissions switched on.",
        read: "We could not find a number, page or photo account to connect. Please try again and choose one in the window.",
        subscribe: "The platform did not let us receive your messages. Please try again in a few minutes.",
        register:
          "The platform did not accept the phone number. Check there that the number is verified and that you know its PIN, then try again.",
        namespace: "The platform did not answer as expected. Please try again in a few minutes.",
        store: "Something went wrong on our side. Please try again in a few minutes.",
      },
      codes: {
        pin_rejected: "The PIN was wrong three times. Find out the PIN of this number, then try again.",
        channel_taken:
          "Another company has just connected this number or page. If it is yours, ask the company that gave you this link.",
        platform_unavailable:
          "The platform does not answer at the moment. Please try again in a few minutes.",
        platform_timeout: "The platform took too long to answer. Please try again in a few minutes.",
        platform_policy_blocked:
          "The platform has blocked this account because of its rules. Sign in at the platform to see what it asks for.",
        platform_permission_denied:
          "The platform does not let you connect this account. Ask the person who manages it there for access.",
        platform_rate_limited:
          "The platform has received too many requests. Please try again in a few minutes.",
      },
      retry: "Try again",
      details: "Details for support",
    },
    notices: {
      cancelled: "Nothing was connected. You can start again whenever you like.",
      unavailable: "The window could not be opened because the service did not answer. Please try again.",
      tooMany: "There were too many tries with this link. Ask the company that gave it to you for a new one.",
    },
    cancel: "Cancel",
    loading: "Loading …",
    offline: "There is no connection at the moment. We keep trying.",
    expired: EXPIRED,
    revoked: REVOKED,
  },
  callback: {
    sending: {
      heading: "One moment",
      body: "Your permission is being passed on. Please keep this window open.",
    },
    done: {
      heading: "You can close this window",
      body: "Go back to the page you came from. It shows what comes next.",
    },
    refused: {
      heading: "This window is out of date",
      body: "Close it and go back to the page you came from. You can start again there.",
    },
    ended: {
      heading: "This link is no longer valid",
      body: "It has expired, or the company that gave it to you has withdrawn it. Close this window and ask them for a new link.",
    },
    unreachable: {
      heading: "There is no connection",
      body: "Your permission could not be passed on. Close this window and start again on the page you came from.",
    },
  },
  completed: {
    heading: "This is already done",
    body: "The account is connected, and the link cannot be used a second time. You can leave this page.",
  },
  unknown: {
    heading: "This link does not work",
    body: "Check that you opened the whole link, or ask the company that gave it to you for a new one.",
  },
};
