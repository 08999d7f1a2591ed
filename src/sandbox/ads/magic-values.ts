/** Names and URLs that cause a specific outcome, like the numbers of payment test cards. */
export const AD_MAGIC_VALUES = [
  { value: "an ad account `act_190...`", effect: "fails every call with error 190/460 (dead token)" },
  { value: "a campaign named `throttle me`", effect: "is refused with error 80004 (rate limit)" },
  {
    value: "an ad named `disapprove...`",
    effect: "is disapproved in review; the result arrives as a webhook",
  },
  {
    value: "an ad named `fatigue...`",
    effect: "has creative fatigue after its review; a webhook reports it",
  },
  {
    value: "an object named `no delivery...`",
    effect: "has no insights; the objects in it have none either",
  },
  { value: "a report on an object with `fail report` in its name", effect: "ends as Job Failed" },
  { value: "a report on an object with `skip report` in its name", effect: "ends as Job Skipped" },
  {
    value: "a video with `unreachable` in its file_url",
    effect: "fails with error 389: the file cannot be fetched",
  },
  {
    value: "a video with `broken` in its file_url",
    effect: "never becomes ready: its processing ends with an error",
  },
] as const;

export const isThrottled = (name: string): boolean => name === "throttle me";
export const isDisapproved = (name: string): boolean => name.startsWith("disapprove");
export const isFatigued = (name: string): boolean => name.startsWith("fatigue");
export const isUndelivered = (name: string): boolean => name.startsWith("no delivery");
export const failsReports = (name: string): boolean => name.includes("fail report");
export const skipsReports = (name: string): boolean => name.includes("skip report");
export const isUnreachable = (address: string): boolean => address.includes("unreachable");
export const isBroken = (address: string): boolean => address.includes("broken");
