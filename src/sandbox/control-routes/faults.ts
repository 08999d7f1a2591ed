import { faultSchema } from "../faults/fault.ts";
import type { Faults } from "../faults/faults.ts";
import type { Tokens } from "../login/tokens.ts";
import { Reply } from "../wire/call.ts";
import type { DeveloperDoor } from "./control-route.ts";
import { jsonReader } from "./read-json.ts";

const PATH = "/_sandbox/faults";

export function faultDoors(faults: Faults, tokens: Tokens): DeveloperDoor[] {
  const read = jsonReader(faultSchema);
  return [
    {
      method: "POST",
      path: PATH,
      summary: "let the next calls, or webhooks, go wrong",
      answer(request) {
        const fault = { times: 1, ...read(request) };
        faults.arm(fault);
        return new Reply(fault, { status: 201 });
      },
    },
    {
      method: "GET",
      path: PATH,
      summary: "what is still armed",
      answer: () => new Reply({ data: faults.armed() }),
    },
    {
      method: "DELETE",
      path: PATH,
      summary: "nothing goes wrong any more, and dead tokens live again",
      answer() {
        const cleared = faults.armed().length;
        faults.clear();
        tokens.revive();
        return new Reply({ cleared });
      },
    },
  ];
}
