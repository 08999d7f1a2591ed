/** The demo client, as it is kept among the settings of a local cluster. */
export type DemoSettings = Record<"DEMO_CLIENT_ID" | "DEMO_EMAIL" | "DEMO_PASSWORD" | "DEMO_API_KEY", string>;

interface ScreenParts {
  address: string;
  sandbox: string;
  envFile: string;
  demo: DemoSettings;
}

/** What stands on the screen once everything runs: where it is, who may enter, and three commands to paste. */
export function screen({ address, sandbox, envFile, demo }: ScreenParts): string {
  const login = JSON.stringify({ email: demo.DEMO_EMAIL, password: demo.DEMO_PASSWORD });
  return `
  Herald is up.

    address    ${address}
    docs       ${address}/api/docs
    sandbox    ${sandbox}/_sandbox  (plays the platforms)
    API key    ${demo.DEMO_API_KEY}
    login      ${demo.DEMO_EMAIL}  ${demo.DEMO_PASSWORD}
    settings   ${envFile}

  Who am I, by the API key; sign in; list the keys as the one who signed in:

curl -s ${address}/api/auth/me -H 'x-svc-api-key: ${demo.DEMO_API_KEY}'
curl -s ${address}/api/auth/login -d '${login}'
curl -s ${address}/api/auth/login -d '${login}' -o /dev/null -c - | curl -s ${address}/api/keys -b - -H 'x-herald-console: 1'

  For the command line in another terminal, in this folder: set -a; . '${envFile}'; set +a; npx herald --help
  Ctrl-C stops everything; the data is kept for the next start.
`;
}
