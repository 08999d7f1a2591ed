/**
 * Names and addresses that bring about a case which otherwise comes by chance, as payment test cards do:
 *
 * | value                                                    | what happens                                         |
 * |----------------------------------------------------------|------------------------------------------------------|
 * | an ad account `act_190...`                               | every call meets a dead token (world.ts)             |
 * | a campaign named `throttle me`                           | its creation meets a rate limit, 80004               |
 * | an ad whose name starts with `disapprove`                | its review ends DISAPPROVED, with a webhook          |
 * | an object whose name starts with `no delivery`           | its insights are empty                               |
 * | a report on an object whose name contains `fail report`  | ends as Job Failed                                   |
 * | a report on an object whose name contains `skip report`  | ends as Job Skipped                                  |
 * | a video whose `file_url` contains `unreachable`          | cannot be fetched, 389                               |
 * | a video whose `file_url` contains `broken`               | is fetched, and its encoding ends in an error        |
 */
export const isThrottled = (name: string): boolean => name === "throttle me";
export const isDisapproved = (name: string): boolean => name.startsWith("disapprove");
export const isUndelivered = (name: string): boolean => name.startsWith("no delivery");
export const failsReports = (name: string): boolean => name.includes("fail report");
export const skipsReports = (name: string): boolean => name.includes("skip report");
export const isUnreachable = (address: string): boolean => address.includes("unreachable");
export const isBroken = (address: string): boolean => address.includes("broken");
