/** The demo client, as it is kept among the settings of a local cluster. */
export type DemoSettings = Record<
  "DEMO_CLIENT_ID" | "DEMO_EMAIL" | "DEMO_PASSWORD" | "DEMO_API_KEY" | "DEMO_CHAT_CHANNEL_ID",
  string
>;

interface BannerParts {
  address: string;
  sandbox: string;
  envFile: string;
  demo: DemoSettings;
}

/** What stands on the screen once everything runs: where it is, who may enter, and three commands to paste. */
export function startupBanner({ address, sandbox, envFile, demo }: BannerParts): string {
  const key = `-H 'x-svc-api-key: ${demo.DEMO_API_KEY}'`;
  return `
  Herald is up.

    address    ${address}
    docs       ${address}/api/docs
    sandbox    ${sandbox}/_sandbox  (plays the platforms)
    API key    ${demo.DEMO_API_KEY}
    login      ${demo.DEMO_EMAIL}  ${demo.DEMO_PASSWORD}
    settings   ${envFile}

  Send a message from the demo client's phone number; let somebody write to it; see both in what its backend was told:

curl -s ${address}/api/outbound/send ${key} -d '{"channel_id": "${demo.DEMO_CHAT_CHANNEL_ID}", "to": "5511988887777", "type": "text", "text": {"body": "Hello"}}'
curl -s ${sandbox}/_sandbox/inbound -d '{"channel": "1400000000000301", "from": "5511988887777", "type": "text", "content": {"body": "Oi"}}'
curl -s ${sandbox}/_sandbox/inbox

  For the command line in another terminal, in this folder: set -a; . '${envFile}'; set +a; npx herald --help
  Ctrl-C stops everything; the data is kept for the next start.
`;
}
