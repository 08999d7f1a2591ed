export type { ApiErrorCode, ErrorCode, SdkErrorCode } from "./errors.ts";
export {
  AuthenticationError,
  ConflictError,
  ConnectionError,
  HeraldError,
  IdempotencyKeyReusedError,
  MessageFailedError,
  NotFoundError,
  OutcomeUnknownError,
  PermissionError,
  PlatformRefusedError,
  RateLimitError,
  ReportFailedError,
  UnavailableError,
  ValidationError,
  WaitTimeoutError,
} from "./errors.ts";
export type { StreamedEvent, StreamOptions, StreamQuery } from "./events.ts";
export type * from "./generated/types.ts";
export { Herald } from "./herald.ts";
export type { Report } from "./insights.ts";
export type { List, ListPage } from "./list.ts";
export type { ReachableStatus } from "./messages.ts";
export type * from "./options.ts";
export type { WaitOptions } from "./poll.ts";
