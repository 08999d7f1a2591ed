import { ApiError, invalidField } from "../../../http/api-error.ts";
import { type Route, route } from "../../../http/route.ts";
import { HTML_REPLY, renderView } from "../../../http/views/view.ts";
import { openObject, Type } from "../../../schema/types.ts";
import { type CallbackAddresses, deniedView, grantedView } from "./callback-view.ts";

const MAX_PARAM_LENGTH = 4_096;

const callbackParam = (name: string, minLength: 0 | 1) =>
  Type.Optional(
    Type.String({
      minLength,
      maxLength: MAX_PARAM_LENGTH,
      "x-message": `${name} must have ${minLength} to ${MAX_PARAM_LENGTH} characters`,
      examples: ["AQBx7Kq2"],
    }),
  );

/** Parameters that the ad platform appends to the redirect URL; it may append others. */
const callbackQuery = openObject({
  code: callbackParam("code", 1),
  state: callbackParam("state", 1),
  error: callbackParam("error", 1),
  error_reason: callbackParam("error_reason", 0),
  error_description: callbackParam("error_description", 0),
});

/** The default redirect_uri of the ad platform's login, for clients that have no own page for it. */
export function callbackRoute(addresses: CallbackAddresses): Route {
  return route({
    method: "get",
    path: "/console/oauth",
    scope: "public",
    undocumented: true,
    summary: "Show how to continue after the ad platform's login; changes nothing and calls no platform",
    query: callbackQuery,
    reply: HTML_REPLY,
    handle({ query, setHeader }) {
      const { code, state, error, ...details } = query;
      if (error !== undefined) return renderView({ setHeader }, deniedView({ error, ...details }, addresses));
      if (code === undefined && state === undefined) throw missingCallbackParams();
      if (code === undefined) throw missingParam("code");
      if (state === undefined) throw missingParam("state");
      return renderView({ setHeader }, grantedView({ code, state }, addresses));
    },
  });
}

const missingCallbackParams = () =>
  new ApiError(
    "validation_failed",
    "The ad platform's login redirects to this page with a code and a state, or with an error; the address has none of them",
  );

const missingParam = (name: string) =>
  invalidField(`/${name}`, `${name} is missing from the address to which the ad platform redirected you`);
