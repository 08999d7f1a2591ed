export const LANGUAGES = ["sdk", "node", "python"] as const;
export type Language = (typeof LANGUAGES)[number];

interface Program {
  code: string;
  /** What starts it. */
  command: string;
}

const WITH_SDK = `import { unwrap, WebhookVerificationError } from "@herald/sdk/webhooks";
import { createServer } from "node:http";
import { env } from "node:process";

const { WEBHOOK_SECRET, PORT = "3000" } = env;
if (!WEBHOOK_SECRET) throw new Error("Set WEBHOOK_SECRET");

async function receive(request) {
  const body = Buffer.concat(await request.toArray()); // the raw body, not parsed JSON
  const event = await unwrap(body, request.headers, WEBHOOK_SECRET);
  console.log(event.type, event.id); // do slow work after the answer
}

createServer((request, response) => {
  receive(request).then(
    () => response.writeHead(204).end(),
    (error) => response.writeHead(error instanceof WebhookVerificationError ? 400 : 500).end(),
  );
}).listen(PORT);
`;

const WITHOUT_PACKAGES = `import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";
import { env } from "node:process";

const { WEBHOOK_SECRET, PORT = "3000" } = env;
if (!WEBHOOK_SECRET) throw new Error("Set WEBHOOK_SECRET");

const TOLERANCE_SECONDS = 300;
const GENERATED = /^whsec_((?=(?:.{4})+$)[A-Za-z0-9+/]+={0,2})$/;

// A generated secret contains the key in base64; any other secret is the key.
const encoded = GENERATED.exec(WEBHOOK_SECRET)?.[1];
const key = encoded ? Buffer.from(encoded, "base64") : Buffer.from(WEBHOOK_SECRET, "utf8");

function verify(headers, body) {
  const { "webhook-id": id, "webhook-timestamp": time, "webhook-signature": signatures = "" } = headers;
  if (!(Math.abs(Date.now() / 1000 - Number(time)) <= TOLERANCE_SECONDS)) return false;
  const digest = createHmac("sha256", key).update(id + "." + time + ".").update(body).digest("base64");
  const expected = Buffer.from("v1," + digest);
  // There are two signatures for a while after the secret was replaced.
  const given = signatures.split(" ").map((signature) => Buffer.from(signature));
  return given.some((one) => one.length === expected.length && timingSafeEqual(one, expected));
}

async function receive(request) {
  const body = Buffer.concat(await request.toArray()); // the raw body, not parsed JSON
  if (!verify(request.headers, body)) return 400;
  const event = JSON.parse(body.toString("utf8"));
  console.log(event.type, event.id); // do slow work after the answer
  return 204;
}

createServer((request, response) => {
  receive(request).then(
    (status) => response.writeHead(status).end(),
    () => response.writeHead(500).end(),
  );
}).listen(PORT);
`;

const PYTHON = `import base64, hmac, json, os, re, sys, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRET = os.environ.get("WEBHOOK_SECRET") or sys.exit("Set WEBHOOK_SECRET")
PORT = int(os.environ.get("PORT", "3000"))
TOLERANCE_SECONDS = 300

# A generated secret contains the key in base64; any other secret is the key.
GENERATED = re.fullmatch(r"whsec_((?=(?:.{4})+$)[A-Za-z0-9+/]+={0,2})", SECRET)
KEY = base64.b64decode(GENERATED[1]) if GENERATED else SECRET.encode()

def verify(headers, body):
    timestamp = headers.get("webhook-timestamp", "")
    if not timestamp.isdecimal() or abs(time.time() - int(timestamp)) > TOLERANCE_SECONDS:
        return False
    signed = f"{headers.get('webhook-id', '')}.{timestamp}.".encode() + body
    expected = b"v1," + base64.b64encode(hmac.digest(KEY, signed, "sha256"))
    # There are two signatures for a while after the secret was replaced.
    given = headers.get("webhook-signature", "").encode().split(b" ")
    return any(hmac.compare_digest(signature, expected) for signature in given)

class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", "0")))  # not parsed JSON
        is_verified = verify(self.headers, body)
        if is_verified:
            event = json.loads(body)
            print(event["type"], event["id"], flush=True)  # do slow work after the answer
        self.send_response(204 if is_verified else 400)
        self.end_headers()

ThreadingHTTPServer(("", PORT), Receiver).serve_forever()
`;

const NODE_COMMAND = "WEBHOOK_SECRET=... node receive.mjs";

/** Programs that receive events and verify them. They read the secret from their environment; a test runs them. */
export const PROGRAMS: Readonly<Record<Language, Program>> = {
  sdk: { command: NODE_COMMAND, code: WITH_SDK },
  node: { command: NODE_COMMAND, code: WITHOUT_PACKAGES },
  python: { command: "WEBHOOK_SECRET=... python3 receive.py", code: PYTHON },
};
