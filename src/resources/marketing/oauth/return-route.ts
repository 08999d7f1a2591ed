import { type Route, route } from "../../../http/route.ts";
import { answerPage, PAGE } from "../../../http/views/view.ts";
import { ApiError, invalidField } from "../../../runtime/errors.ts";
import { openObject, Type } from "../../../schema/types.ts";
import { agreedPage, type ReturnAddresses, refusedPage } from "./return-view.ts";

const LONGEST = 4_096;

const given = (name: string, minLength: 0 | 1) =>
  Type.Optional(
    Type.String({
      minLength,
      maxLength: LONGEST,
      "x-message": `${name} must have ${minLength} to ${LONGEST} characters`,
      examples: ["AQBx7Kq2"],
    }),
  );

/** What the ad platform appends to the address; it may well append more. */
const returned = openObject({
  code: given("code", 1),
  state: given("state", 1),
  error: given("error", 1),
  error_reason: given("error_reason", 0),
  error_description: given("error_description", 0),
});

/** Where the ad platform's login sends people back who were not sent by a program with an address of its own. */
export function returnRoute(addresses: ReturnAddresses): Route {
  return route({
    method: "get",
    path: "/console/oauth",
    scope: "public",
    undocumented: true,
    summary: "What to do after the ad platform's login, as a page; it changes nothing and calls nobody",
    query: returned,
    reply: PAGE,
    handle({ query, setHeader }) {
      const { code, state, error, ...words } = query;
      if (error !== undefined) return answerPage({ setHeader }, refusedPage({ error, ...words }, addresses));
      if (code === undefined && state === undefined) throw nothingReturned();
      if (code === undefined) throw missing("code");
      if (state === undefined) throw missing("state");
      return answerPage({ setHeader }, agreedPage({ code, state }, addresses));
    },
  });
}

const nothingReturned = () =>
  new ApiError(
    "validation_failed",
    "This page is where the ad platform's login sends people back, with a code and a state or with an error; the address has none of them",
  );

const missing = (name: string) =>
  invalidField(`/${name}`, `${name} is missing from the address with which the ad platform sent you back`);
