// Verifies the signature of every webhook in the sandbox's inbox, newest first.
import { unwrap } from "@herald/sdk/webhooks";

const { SANDBOX_URL, DEMO_WEBHOOK_SECRET } = process.env;
if (!DEMO_WEBHOOK_SECRET) throw new Error("Load the settings first: set -a; . .herald/env; set +a");
const inbox = await (await fetch(`${SANDBOX_URL}/_sandbox/inbox`)).json();

if (inbox.data.length === 0) console.log("The inbox is empty");
for (const { raw, headers, body } of inbox.data) console.log(await check(raw, headers), body.type, body.id);

function check(raw, headers) {
  return unwrap(raw, headers, DEMO_WEBHOOK_SECRET).then(
    () => "signature ok      ",
    (error) => error.message, // a wrong signature, or one that is older than 5 minutes
  );
}
