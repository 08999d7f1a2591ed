import { faultSchema } from "../faults/fault.ts";
import type { Faults } from "../faults/faults.ts";
import type { Tokens } from "../login/tokens.ts";
import { Reply } from "../wire/call.ts";
import type { ControlRoute } from "./control-route.ts";
import { jsonReader } from "./read-json.ts";

const FAULTS_PATH = "/_sandbox/faults";

export function faultRoutes(faults: Faults, tokens: Tokens): ControlRoute[] {
  const read = jsonReader(faultSchema);
  return [
    {
      method: "POST",
      path: FAULTS_PATH,
      summary: "arms a fault for the next calls or webhooks",
      answer(request) {
        const fault = { times: 1, ...read(request) };
        faults.arm(fault);
        return new Reply(fault, { status: 201 });
      },
    },
    {
      method: "GET",
      path: FAULTS_PATH,
      summary: "lists the armed faults",
      answer: () => new Reply({ data: faults.armed() }),
    },
    {
      method: "DELETE",
      path: FAULTS_PATH,
      summary: "removes all armed faults and restores dead tokens",
      answer() {
        const cleared = faults.armed().length;
        faults.clear();
        tokens.restoreRevoked();
        return new Reply({ cleared });
      },
    },
  ];
}
