// Verifies the signature of every webhook in the sandbox's inbox, newest first.
import { Webhook } from "standardwebhooks";

const { SANDBOX_URL, DEMO_WEBHOOK_SECRET } = process.env;
if (!DEMO_WEBHOOK_SECRET) throw new Error("Load the settings first: set -a; . .herald/env; set +a");
const webhook = new Webhook(DEMO_WEBHOOK_SECRET);
const inbox = await (await fetch(`${SANDBOX_URL}/_sandbox/inbox`)).json();

if (inbox.data.length === 0) console.log("The inbox is empty");
for (const { raw, headers, body } of inbox.data) console.log(check(raw, headers), body.type, body.id);

function check(raw, headers) {
  try {
    webhook.verify(raw, headers);
    return "signature ok      ";
  } catch (error) {
    return error.message; // a wrong signature, or one that is older than 5 minutes
  }
}
