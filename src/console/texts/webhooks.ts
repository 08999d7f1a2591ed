/** What becomes of events that wait; their number is undefined until it is known. */
function waiting(number: number | undefined): string {
  if (number === 0) return "No event waits now.";
  if (number === 1)
    return "1 event waits now; it is skipped at its next attempt, and you can retry it later.";
  const events =
    number === undefined ? "Events that wait now" : `${number.toLocaleString("en")} events that wait now`;
  return `${events} are skipped at their next attempt; you can retry them later.`;
}

/** The texts of the webhooks screen. */
export const webhooksTexts = {
  title: "Webhooks",
  introduction:
    "Herald sends each event to your backend as a POST with JSON. Set the address, generate a secret, verify the deliveries in your backend, and send a test event.",
  guide: "Guide",

  waiting,

  address: {
    title: "1. Address",
    label: "Address of your backend",
    hint: "https, reachable from the Internet, without query. Each event is sent to a path below it; section 3 lists the paths.",
    placeholder: "https://shop.example.com/herald",
    save: "Set address",
    saved: "The address is set.",
    remove: {
      action: "Remove address",
      title: "Remove the address?",
      consequence: "New events are recorded and not sent until an address is set.",
      done: "The address is removed.",
    },
  },

  secret: {
    title: "2. Secret",
    hint: "Herald signs each delivery with the secret. Your backend verifies the signature, and so knows that the delivery comes from Herald.",
    present: "Secret",
    name: "the secret",
    shownTitle: "The new secret",
    shownNote: "Herald signs deliveries with this secret from now on.",
    generate: "Generate secret",
    replace: {
      action: "Replace secret",
      title: "Replace the secret?",
      consequence: "Deliveries are signed with the new secret at once.",
      tokenConsequence: "The header x-webhook-token has only the new secret from now on.",
      graceHint:
        "Meanwhile deliveries have two signatures, one of each secret, so that your backend accepts them before and after you change it.",
    },
    remove: {
      action: "Remove secret",
      title: "Remove the secret?",
      consequence:
        "Deliveries are no longer signed, and a former secret stops working too. A backend that verifies signatures refuses them; others cannot tell whether they come from Herald.",
      done: "The secret is removed.",
    },
    tokenHeader: {
      label: "Send the secret itself in x-webhook-token",
      hint: "A backend that verifies signatures does not need it.",
      hide: "Stop sending",
      title: "Stop sending the secret itself?",
      consequence:
        "Deliveries no longer have the header x-webhook-token. A backend that compares it refuses them; one that verifies signatures is not affected.",
    },
  },

  snippet: {
    title: "Verify deliveries",
    hint: "A complete program that receives events and refuses everything that Herald has not signed. It reads the secret from WEBHOOK_SECRET in its environment, and listens on PORT or 3000.",
    language: "Language",
    label: "the program",
    languages: {
      sdk: {
        label: "Node.js with @herald/sdk",
        hint: "Install the SDK, save the program as receive.mjs, then:",
      },
      node: { label: "Node.js without packages", hint: "Save the program as receive.mjs, then:" },
      python: { label: "Python without packages", hint: "Save the program as receive.py, then:" },
    },
    installSdk: "How to install the SDK",
    rules: "The rules of the signature",
  },

  dispatch: {
    title: "3. What is sent where",
    caption: "Kinds of events",
    paths: "Each kind of event has its own paths below your address:",
    noPaths: "The paths are shown here once an address is set.",
    columns: { name: "Events of", paths: "Paths", state: "Delivery", events: "Events" },
    types: (number: number) => (number === 1 ? "1 type" : `${number} types`),
    seeEvents: "See events",
    eventsOf: (name: string) => `See events of ${name}`,
    send: (name: string) => `Send events of ${name}`,
    on: "on",
    off: "off",
    always: "always on",
    disable: {
      action: "Switch off",
      title: (name: string) => `Switch off events of ${name}?`,
      consequence: (name: string) => `New events of ${name} are recorded and not sent while this is off.`,
    },
  },

  /** Names for people of the keys of events. */
  keys: {
    chatapp: "Chat",
    photoapp: "Photo accounts",
    socialapp: "Pages",
    marketing: "Ads",
    publishing: "Comments and mentions",
    embedded_signup: "Embedded signup",
  },

  test: {
    title: "4. Test event",
    event: "Event",
    connection: "Connection test (webhook.test)",
    connectionHint: "One attempt, now, even where events are switched off.",
    typedHint:
      "The example of this type, with test: true. It is recorded and delivered like a real event: switches and retries apply.",
    key: "Sent as an event of",
    noKey: "None: to the address itself",
    noAddress: "Set an address first.",
    isOff: (name: string) => `Events of ${name} are switched off: the event is recorded and not sent.`,
    action: "Send test event",
    sending: "Sending",
    result: "Result",
    outcome: "Delivery",
    statusCode: "HTTP status",
    duration: "Duration",
    milliseconds: (ms: number) => `${ms} ms`,
    error: "Error",
    sentTo: "Sent to",
    openEvent: "Open the event",
    answer: "Answer of your backend",
    reasons: {
      disabled: "Events of this kind are switched off.",
      not_configured: "No address is set.",
      pending: "No attempt was made yet. Open the event to see what happens.",
    } as Readonly<Record<string, string>>,
  },
};
