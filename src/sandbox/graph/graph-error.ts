import { randomBytes } from "node:crypto";

interface GraphErrorOptions {
  subcode?: number;
  /** 400 by default. */
  status?: number;
  transient?: boolean;
  userTitle?: string;
  userMessage?: string;
  /** `error_data`: an object or its JSON text, because the platform sends both. */
  data?: unknown;
  headers?: Record<string, string>;
}

/** An error in the platform's format. Edges throw it; the request handler turns it into the envelope. */
export class GraphError extends Error {
  readonly code: number;
  readonly options: GraphErrorOptions;

  constructor(code: number, message: string, options: GraphErrorOptions = {}) {
    super(message);
    this.name = "GraphError";
    this.code = code;
    this.options = options;
  }

  get status(): number {
    return this.options.status ?? 400;
  }

  get headers(): Record<string, string> {
    return this.options.headers ?? {};
  }

  /** Returns a copy with these headers added. Headers that are already set win. */
  withHeaders(headers: Record<string, string>): GraphError {
    return new GraphError(this.code, this.message, {
      ...this.options,
      headers: { ...headers, ...this.headers },
    });
  }

  /** Returns the body of the error reply. */
  envelope(): unknown {
    const { subcode, transient = false, userTitle, userMessage, data } = this.options;
    return {
      error: {
        message: this.message,
        type: "OAuthException",
        code: this.code,
        ...(data === undefined ? {} : { error_data: data }),
        ...(subcode === undefined ? {} : { error_subcode: subcode }),
        is_transient: transient,
        ...(userTitle === undefined ? {} : { error_user_title: userTitle }),
        ...(userMessage === undefined ? {} : { error_user_msg: userMessage }),
        fbtrace_id: `A${randomBytes(9).toString("base64url")}`,
      },
    };
  }
}

export const invalidParameter = (message: string, options: GraphErrorOptions = {}): GraphError =>
  new GraphError(100, `(#100) ${message}`, options);

/** A missing object and an object that the token cannot access give the same error. */
export const noSuchObject = (method: string, id: string): GraphError =>
  new GraphError(
    100,
    `Unsupported ${method.toLowerCase()} request. Object with ID '${id}' does not exist, cannot be loaded due to missing permissions, or does not support this operation`,
    { subcode: 33 },
  );

export const missingPermission = (code: 10 | 200 | 294, permission: string): GraphError =>
  new GraphError(code, `(#${code}) Requires ${permission} permission`, { status: 403 });

const DEAD_TOKEN_MESSAGES = {
  458: "The user has not authorized application.",
  459: "The user is enrolled in a blocking, logged-in checkpoint.",
  460: "The session has been invalidated because the user changed their password.",
  463: "Session has expired.",
  464: "The user is not confirmed.",
  467: "The access token is invalid because the user logged out.",
  492: "The user must be an administrator, editor, or moderator of the page.",
} as const;

export type DeadTokenSubcode = keyof typeof DEAD_TOKEN_MESSAGES;

export const DEAD_TOKEN_SUBCODES: readonly number[] = Object.keys(DEAD_TOKEN_MESSAGES).map(Number);

export const deadToken = (subcode: DeadTokenSubcode = 460): GraphError =>
  new GraphError(190, `Error validating access token: ${DEAD_TOKEN_MESSAGES[subcode]}`, {
    subcode,
    status: 401,
  });

/** The error for a token that this sandbox never issued. */
export const unknownToken = (): GraphError =>
  new GraphError(190, "Invalid OAuth access token - Cannot parse access token", { status: 401 });
