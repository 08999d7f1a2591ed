/** All texts of the console. */

const count = (number: number, one: string, many: string): string =>
  `${number.toLocaleString("en")} ${number === 1 ? one : many}`;

const events = (number: number) => count(number, "event", "events");

export const texts = {
  product: "Herald",
  windowTitle: (title: string) => `${title} · Herald`,
  skip: "Skip to the content",
  menu: "Main menu",
  apiReference: "API reference",
  signOut: "Sign out",
  cancel: "Cancel",
  close: "Close",
  tryAgain: "Try again",
  request: "Request",
  loading: "Loading",
  copy: (name: string) => `Copy ${name}`,
  copyButton: "Copy",
  theId: "id",
  copied: (name: string) => `Copied: ${name}`,
  notCopied: "The browser does not allow copying. Select the text and copy it by keyboard.",
  raw: "Raw",
  any: "Any",
  since: "Since",
  until: "Until",
  moreFilters: "More filters",
  clearFilters: "Clear filters",
  pages: "Pages",
  newest: "Newest",
  newer: "Newer",
  older: "Older",
  newRows: (number: number, areMore: boolean) => `${number}${areMore ? " or more" : ""} new: show`,
  changedRows: "Some rows have changed: show",
  select: (id: string) => `Select ${id}`,
  selectAll: "Select all",
  selection: "Selection",
  size: (value: object) =>
    Array.isArray(value)
      ? count(value.length, "item", "items")
      : count(Object.keys(value).length, "field", "fields"),
  chartFigure: (number: number, label: string) => `${number.toLocaleString("en")} ${label}`,

  noAnswer: "Herald does not answer. Check your connection and try again.",
  noJson: "The answer is not Herald's. A proxy between this browser and Herald may have changed it.",
  unexpectedStatus: (status: number) => `The server answered with status ${status}.`,
  showMore: (number: number) =>
    `Show ${Math.min(number, 100)} of ${count(number, "more value", "more values")}`,
  unexpectedFault: "This page has failed. Load it again; the address stays the same.",
  reload: "Load again",
  now: "now",
  times: {
    justNow: "just now",
    ago: (duration: string) => `${duration} ago`,
    ahead: (duration: string) => `in ${duration}`,
    day: (number: number) => count(number, "day", "days"),
    hour: (number: number) => `${number} h`,
    minute: (number: number) => `${number} min`,
    second: (number: number) => `${number} s`,
  },
  last24Hours: "Last 24 hours",

  search: {
    label: "Search an id, a phone number or a reference",
    placeholder: "Search any id   /",
    otherId: "The console opens ids that begin with msg_, evt_, bat_ or ch_.",
  },

  keys: {
    title: "Keyboard",
    list: [
      ["/", "Search"],
      ["j", "Next row"],
      ["k", "Previous row"],
      ["Enter", "Open the row"],
      ["Esc", "Close"],
      ["?", "Show the keys"],
    ],
  },

  roles: { owner: "Owner", admin: "Administrator", member: "Member", viewer: "Viewer", "": "" } as Readonly<
    Record<string, string>
  >,

  statuses: {
    scheduled: "scheduled",
    queued: "queued",
    sending: "sending",
    accepted: "accepted",
    sent: "sent",
    delivered: "delivered",
    read: "read",
    failed: "failed",
    unknown: "unknown",
    cancelled: "cancelled",
    pending: "waiting",
    skipped: "not sent",
    rejected: "rejected",
    retry: "will retry",
  } as Readonly<Record<string, string>>,

  whatToDo: "What to do:",
  whoActs: {
    you: "You can act",
    recipient: "The recipient can act",
    platform: "The platform can act",
    operator: "The operator of Herald can act",
  } as Readonly<Record<string, string>>,

  notFound: { title: "Not found", text: "There is no page at this address." },
  notAllowed: {
    title: "Not available",
    text: "Your role does not allow this page. An owner or administrator can change your role.",
  },
  welcome: {
    title: "Welcome",
    text: "Your role is for advertising, which the API offers. Messages and events need another role: an owner or administrator can change yours.",
  },

  signIn: {
    title: "Sign in",
    email: "Email",
    password: "Password",
    action: "Sign in",
    ended: "Your session has ended. Sign in to continue where you were.",
    noCookie: "The browser did not keep the session. Allow cookies for this site and try again.",
    provider: "Users of this service sign in at an identity provider:",
    providerHint:
      "Sign in there, then come back to this page. If it still asks you to sign in, the operator has to pass the provider's token to the console: the guide on credentials says how.",
    continueAction: "Continue",
  },

  sessions: {
    title: "Sessions",
    program: "Browser",
    current: "this one",
    address: "Address",
    commandLine: "command line",
    started: "Signed in",
    used: "Last used",
    expires: "Expires",
    action: "Action",
    end: "End",
    ended: "The session has ended.",
    none: "You signed in at an identity provider, which manages your sessions.",
    unknownProgram: "Unknown program",
  },

  messages: {
    title: "Messages",
    activity: "Messages of the last 24 hours by outcome",
    columns: {
      to: "To",
      status: "Status",
      channel: "Channel",
      reason: "Reason",
      reference: "Reference",
      created: "Created",
    },
    outcomes: { sent: "sent", waiting: "waiting", failed: "failed", cancelled: "cancelled" },
    batch: "Batch",
    type: "Type",
    sendAt: "Send at",
    platformId: "Platform's id",
    none: "No message was sent yet.",
    searchReference: (text: string) => `Search ${text} as a reference`,
    sent: "The message is queued.",
    noneMatch: "No message matches the filters.",
    sendTest: "Send a test message",
    explanation: "Explanation",
    until: "Until at most",
    seeEvents: "See its events",
    whatThisMeans: "What this means",
    timeline: "What happened",
    content: "Content",
    contentGone: "The content is no longer stored.",
    theCommand: "the command",
    copyAsCurl: "Copy as curl",
    sendAgain: {
      title: "Send this message again?",
      action: "Send again",
      consequence: (to: string, channel: string) =>
        `${channel} sends the same content to ${to} as a new message. The person may get it twice.`,
    },
    cancel: {
      title: "Cancel this message?",
      action: "Cancel message",
      consequence: (to: string) => `The message to ${to} will not be sent. This cannot be undone.`,
    },
  },

  timeline: {
    accepted: "accepted",
    event: "event",
    openEvent: "Open the event",
    platformAttempt: (attempt: number) => `platform attempt ${attempt}`,
    deliveryAttempt: (attempt: number) => `delivery attempt ${attempt}`,
    error: { code: "Code", title: "Title", message: "Message", details: "Details", status: "HTTP status" },
    noAnswer: "no answer",
    answer: "Answer",
    emptyAnswer: "The answer has no body.",
  },

  sendMessage: {
    title: "Send a test message",
    noChannel: "No channel is connected. Connect one through an embedded signup or the command line.",
    phoneHint: "Phone number with country code, digits only",
    pageHint: "The person's id at the page or photo account",
    text: "Text",
    textHint: "A text reaches people who have written in the last 24 hours.",
    template: "Template",
    templateHint: "An approved template reaches people at any time.",
    choose: "Choose a template",
    noTemplate: "The channel has no approved template.",
    variable: (name: string) => `Value of {{${name}}}`,
    sampleText: "Hello from Herald",
    action: "Send message",
    samples: "The platforms are simulated. Numbers to try:",
    sampleRecipients: [
      { to: "5511988887777", effect: "is delivered and read" },
      { to: "5511988880000", effect: "always fails" },
      { to: "5511988880470", effect: "has not written for 24 hours" },
      { to: "5511988880410", effect: "is delivered, but your backend refuses its events once" },
    ],
  },

  events: {
    title: "Events",
    activity: "Events of the last 24 hours by outcome of the delivery",
    columns: {
      type: "Type",
      status: "Delivery",
      answer: "Last answer",
      channel: "Channel",
      key: "Key",
      recorded: "Recorded",
      id: "Id",
    },
    outcomes: { delivered: "delivered", waiting: "waiting", failed: "failed", skipped: "not sent" },
    skipReasons: {
      disabled: "key switched off",
      not_configured: "no webhook address",
    } as Readonly<Record<string, string>>,
    attempts: (number: number) => count(number, "attempt", "attempts"),
    nextAttempt: "next attempt",
    inFlight: "being delivered",
    noAttempts: "No attempt was made.",
    messageId: "Message id",
    message: "Message",
    openMessage: "Open the message",
    url: "Address",
    payload: "Payload",
    attemptsTitle: "Attempts",
    headers: "Headers",
    headersNote: "Every attempt has these headers. Each one also has its own number, time and signature.",
    none: "No event was recorded yet. Events arrive here by themselves.",
    noneMatch: "No event matches the filters.",
    live: {
      live: "Live",
      connecting: "Connecting",
      polling: "Checking every 5 s",
      offline: "Not connected",
      stopped: "Paused",
      notHere: "Live on the newest page only",
    },
    retry: {
      action: "Retry",
      one: "The event is sent again.",
      oneHeld: "The event was not sent: its key is switched off, or no webhook address is set.",
      matching: "Retry failed events",
      matchingTitle: (status: string | undefined) =>
        `Retry all ${status === "failed" ? "failed" : status === "skipped" ? "skipped" : "failed and skipped"} events that match the filters?`,
      deliveredTitle: "Retry an event that was delivered?",
      deliveredConsequence: "Your backend has this event and receives it again.",
      selected: (number: number) => `${events(number)} selected`,
      count: (number: number) => `Retry ${events(number)}`,
      nothing: "No failed or skipped event matches the filters.",
      consequence: (number: number) =>
        `Your backend receives ${events(number)} again. New events are not delayed by them.`,
      held: (number: number) =>
        `${events(number)} will not be sent: the key is switched off, or no webhook address is set.`,
      done: (queued: number, held: number) =>
        held === 0
          ? `${events(queued)} will be sent again.`
          : `${events(queued)} will be sent again, ${held} not.`,
    },
  },
};
