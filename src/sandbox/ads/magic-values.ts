/** Names and addresses that bring about a case which otherwise comes by chance, as payment test cards do. */
export const AD_MAGIC_VALUES = [
  { value: "an ad account `act_190...`", effect: "has a dead token" },
  { value: "a campaign named `throttle me`", effect: "gets a rate limit" },
  { value: "an ad named `disapprove...`", effect: "is disapproved by the review, with a webhook" },
  { value: "an object named `no delivery...`", effect: "has no insights" },
  { value: "a report on an object with `fail report` in its name", effect: "ends as Job Failed" },
  { value: "a report on an object with `skip report` in its name", effect: "ends as Job Skipped" },
  { value: "a video with `unreachable` in its file_url", effect: "cannot be fetched, 389" },
  { value: "a video with `broken` in its file_url", effect: "is fetched and never gets ready" },
] as const;

export const isThrottled = (name: string): boolean => name === "throttle me";
export const isDisapproved = (name: string): boolean => name.startsWith("disapprove");
export const isUndelivered = (name: string): boolean => name.startsWith("no delivery");
export const failsReports = (name: string): boolean => name.includes("fail report");
export const skipsReports = (name: string): boolean => name.includes("skip report");
export const isUnreachable = (address: string): boolean => address.includes("unreachable");
export const isBroken = (address: string): boolean => address.includes("broken");
