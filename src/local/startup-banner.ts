/** The demo client as it is stored in the settings file of a local cluster; empty where it has no such thing. */
export type DemoSettings = Record<
  | "DEMO_CLIENT_ID"
  | "DEMO_EMAIL"
  | "DEMO_PASSWORD"
  | "DEMO_API_KEY"
  | "DEMO_CHAT_CHANNEL_ID"
  | "DEMO_WEBHOOK_URL"
  | "DEMO_WEBHOOK_SECRET",
  string
>;

interface BannerParts {
  address: string;
  sandbox: string;
  envFile: string;
  demo: DemoSettings;
}

/** The screen shown once everything runs: addresses, credentials and three commands to paste. */
export function startupBanner({ address, sandbox, envFile, demo }: BannerParts): string {
  const key = `-H 'x-svc-api-key: ${demo.DEMO_API_KEY}'`;
  return `
  Herald is up.

    address    ${address}
    docs       ${address}/api/docs
    sandbox    ${sandbox}/_sandbox  (simulated platforms)
    signup     ${sandbox}/_sandbox/signup  (demo of the embedded signup)
    API key    ${demo.DEMO_API_KEY}
    login      ${demo.DEMO_EMAIL}  ${demo.DEMO_PASSWORD}
    webhooks   ${demo.DEMO_WEBHOOK_URL}
    settings   ${envFile}

  Send a message, receive one, and list the webhooks that the sandbox's inbox received:

curl -sw '\\n' ${address}/api/outbound/send ${key} -d '{"channel_id": "${demo.DEMO_CHAT_CHANNEL_ID}", "to": "5511988887777", "type": "text", "text": {"body": "Hello"}}'
curl -sw '\\n' ${sandbox}/_sandbox/inbound -d '{"channel": "1400000000000301", "from": "5511988887777", "type": "text", "content": {"body": "Hi"}}'
curl -sw '\\n' ${sandbox}/_sandbox/inbox

  In another terminal: npx herald --help. The guides in docs/ take address and key from the settings file.
  Ctrl-C stops everything; the data is kept for the next start.
`;
}
