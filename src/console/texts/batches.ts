const messages = (number: number): string =>
  `${number.toLocaleString("en")} ${number === 1 ? "message" : "messages"}`;

/** The texts of batches. */
export const batchesTexts = {
  title: "Batches",
  columns: {
    name: "Name",
    status: "Status",
    channel: "Channel",
    type: "Type",
    progress: "Progress",
    created: "Created",
  },
  id: "Id",
  messages: "Messages",
  sendAt: "Start",
  finished: "Finished",
  progress: (percent: number) => `${percent} %`,
  failed: (number: number) => `${number.toLocaleString("en")} failed`,

  none: "No batch was sent yet.",
  noneMatch: "No batch matches the filters.",
  whatIsIt: "A batch sends one message to up to 1,000 people.",
  howItIsMade:
    "Programs make batches with the API; the command herald batch send makes them from a CSV file.",
  howTo: "How to send to many people",

  outcomesTitle: "Messages by outcome",
  outcomes: {
    sent: "sent",
    waiting: "waiting",
    failed: "failed",
    unknown: "unknown",
    cancelled: "cancelled",
  },
  /** What the bar shows, for screen readers. */
  bar: (outcomes: readonly { label: string; count: number }[]) =>
    `Of ${messages(outcomes.reduce((sum, { count }) => sum + count, 0))}: ${outcomes
      .map(({ label, count }) => `${count.toLocaleString("en")} ${label}`)
      .join(", ")}`,
  inStatus: (number: number, status: string) => `${number.toLocaleString("en")} ${status}`,
  seeAll: "See its messages",

  causesTitle: "Failures by cause",
  count: messages,
  noReason: "no error was stored",
  seeSample: "See one",
  seeFailed: "See all that failed",

  reasons: {
    requested: "by request",
    channel: "channel",
    template: "template",
    failures: "failures",
  },
  paused: "Why it is paused",
  pauses: {
    requested: {
      summary: "The batch was paused on request.",
      nextStep: "Resume it to send the rest, or cancel it.",
    },
    channel: {
      summary: "The batch has paused, because its channel needs a new token or is disconnected.",
      nextStep: "Connect the channel again, then resume the batch.",
    },
    template: {
      summary: "The batch has paused, because the platform paused, disabled or deleted its template.",
      nextStep: "Wait until the platform approves the template again, then resume. Or cancel the batch.",
    },
    failures: {
      summary: "The batch has paused, because more than half of its last messages failed with one error.",
      nextStep: "Read the causes below. Resume if the cause is gone, otherwise cancel the batch.",
    },
  },
  whatThisMeans: "What this means",

  pause: "Pause",
  resume: "Resume",
  cancel: {
    title: "Cancel this batch?",
    refusal: "Keep batch",
    action: "Cancel batch",
    consequence: (number: number) =>
      number === 0
        ? "None of its messages waits to be sent. This cannot be undone."
        : `${messages(number)} will not be sent. This cannot be undone.`,
    inFlight: (number: number) => `${messages(number)} being sent at this moment may still arrive.`,
  },
};
