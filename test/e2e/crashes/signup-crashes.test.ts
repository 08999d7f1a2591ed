import t from "tap";
import { type SignupPage, startSignupContext } from "../../fixtures/embed/signup.ts";
import { startWeb } from "../../fixtures/processes/processes.ts";
import { OTHER_WABA_ID, PLAIN_NUMBER_ID } from "../../fixtures/sandbox/assets.ts";
import { until } from "../../fixtures/until.ts";

const CHOICE = { asset_id: PLAIN_NUMBER_ID };

t.test("a signup whose process is killed after the registration is completed by another try", async (t) => {
  const { api, settings, requests, arm, makeHost } = await startSignupContext(t);
  const doomed = await startWeb(t, settings);
  const host = await makeHost();
  const page = await host.open();
  await page.grant("chatapp", OTHER_WABA_ID);
  // The call after the registration is delayed, and the process is killed meanwhile.
  const path = `/v26.0/${OTHER_WABA_ID}`;
  await arm({ kind: "delay", ms: 30_000, match: { method: "GET", path } });
  const lost = chooseAt(doomed.address, page).catch(() => undefined);
  await until("the process waits for the platform", async () =>
    (await requests()).some((request) => request.path === path),
  );
  await doomed.stop("SIGKILL");
  t.equal(await lost, undefined, "the person got no reply");
  t.match(await page.state(), { status: "opened", try: { phase: "connecting" } });
  t.same(await api.db.query("select id from channels where client_id = $1", [host.id]), []);

  await page.grant("chatapp", OTHER_WABA_ID);
  t.match((await page.post("choice", CHOICE)).body, { status: "completed" });
  const pins = (await requests()).flatMap(({ path, body }) => (path.endsWith("/register") ? [body.pin] : []));
  t.equal(pins.length, 2);
  t.equal(pins[0], pins[1], "the second registration used the PIN of the first");
});

const chooseAt = (address: string, { token }: SignupPage) =>
  fetch(`${address}/embed/${token}/choice`, { method: "POST", body: JSON.stringify(CHOICE) });
