import { object, Type, timestamp } from "../../../schema/types.ts";

const MAX_URI_LENGTH = 2_048;

const EXAMPLE_REDIRECT_URI = "https://app.example.com/ads/back";
const EXAMPLE_STATE = "Vb3kqTz0wXn5rYc8mHd2LsPg.mhz3x9k2.pXo1uJ0Z3sN7cQm4tVd8yRb2wFh6gLk9aEi5xTnBvCs";

export const urlQuery = object({
  redirect_uri: Type.Optional(
    Type.String({
      maxLength: MAX_URI_LENGTH,
      description:
        "Where the dialog sends the person back, with `code` and `state`: an https address, or an http one on localhost. Absent: a page of the service that says what to do",
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
      description: "Comes back with the person, and goes into the exchange",
      examples: [EXAMPLE_STATE],
    }),
    redirect_uri: Type.String({
      description: "The same in the exchange, to the letter",
      examples: [EXAMPLE_REDIRECT_URI],
    }),
    expires_at: timestamp({ description: "Until when the state can be used" }),
  },
  { title: "OauthUrlResponseDto" },
);

export const exchange = object({
  code: Type.String({
    minLength: 1,
    maxLength: 4_096,
    description: "As it stands in the address to which the person was sent back",
    examples: ["AQDx3kq"],
  }),
  redirect_uri: Type.String({
    minLength: 1,
    maxLength: MAX_URI_LENGTH,
    description: "Exactly as it was given or answered when the address was asked for",
    examples: [EXAMPLE_REDIRECT_URI],
  }),
  state: Type.String({ minLength: 1, maxLength: 1_024, examples: [EXAMPLE_STATE] }),
});
