import { object, Type, timestamp } from "../../../schema/types.ts";

const MAX_URI_LENGTH = 2_048;

const EXAMPLE_REDIRECT_URI = "https://app.example.com/ads/back";
const EXAMPLE_STATE = "Vb3kqTz0wXn5rYc8mHd2LsPg.mhz3x9k2.pXo1uJ0Z3sN7cQm4tVd8yRb2wFh6gLk9aEi5xTnBvCs";

export const urlQuery = object({
  redirect_uri: Type.Optional(
    Type.String({
      maxLength: MAX_URI_LENGTH,
      description:
        "Where the dialog redirects the person, with `code` and `state`: an https URL, or an http URL on localhost. Default: a page of Herald that shows the next step",
      examples: [EXAMPLE_REDIRECT_URI],
    }),
  ),
});

export const oauthUrl = object(
  {
    url: Type.String({
      description: "The ad platform's login dialog: send the person there",
      examples: ["https://www.example.com/v26.0/dialog/oauth?client_id=1900000000000001&response_type=code"],
    }),
    state: Type.String({
      description: "Returned with the person; pass it to the exchange",
      examples: [EXAMPLE_STATE],
    }),
    redirect_uri: Type.String({
      description: "Pass exactly this value to the exchange",
      examples: [EXAMPLE_REDIRECT_URI],
    }),
    expires_at: timestamp({ description: "When the state expires" }),
  },
  { title: "OauthUrlResponseDto" },
);

export const exchange = object({
  code: Type.String({
    minLength: 1,
    maxLength: 4_096,
    description: "The `code` parameter of the URL to which the person was redirected",
    examples: ["AQDx3kq"],
  }),
  redirect_uri: Type.String({
    minLength: 1,
    maxLength: MAX_URI_LENGTH,
    description: "Exactly the `redirect_uri` that was returned with the login URL",
    examples: [EXAMPLE_REDIRECT_URI],
  }),
  state: Type.String({ minLength: 1, maxLength: 1_024, examples: [EXAMPLE_STATE] }),
});
