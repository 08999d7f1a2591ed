import type { SetupStepDto } from "../../../../sdk/src/generated/types.ts";
import { useLoaded } from "../../app/loading.ts";
import { Heading } from "../../components/heading.tsx";
import { Loading } from "../../components/notices.tsx";
import { TextWithTimes } from "../../components/time.tsx";
import { webhooksTexts as words } from "../../texts/webhooks.ts";
import { Address } from "./address.tsx";
import { loadSetup } from "./config.ts";
import { Dispatch } from "./dispatch.tsx";
import { Secret, Snippet } from "./secret.tsx";
import { TestEvent } from "./test-event.tsx";

/** Where the client's events are sent, in the order in which a new client sets it up. */
export function Webhooks() {
  const loaded = useLoaded("", loadSetup);
  const onChange = loaded.reload;
  return (
    <>
      <Heading
        title={words.title}
        actions={
          <a class="button quiet" href="/docs/guides/receiving" target="_blank" rel="noreferrer">
            {words.guide}
          </a>
        }
      />
      <p class="soft">{words.introduction}</p>
      <Loading loaded={loaded}>
        {({ config, address, secret }) => (
          <>
            <section class="panel">
              <h2>{words.address.title}</h2>
              <StepState step={address} />
              <Address url={config.webhook_url} onChange={onChange} />
            </section>
            <section class="panel">
              <h2>{words.secret.title}</h2>
              <StepState step={secret} />
              <Secret config={config} onChange={onChange} />
              <Snippet />
            </section>
            <section class="panel">
              <h2>{words.dispatch.title}</h2>
              <Dispatch config={config} onChange={onChange} />
            </section>
            <section class="panel">
              <h2>{words.test.title}</h2>
              <TestEvent config={config} onSent={onChange} />
            </section>
          </>
        )}
      </Loading>
    </>
  );
}

/** What Herald says about a step of the setup. */
const StepState = ({ step }: { step: SetupStepDto | undefined }) =>
  step && (
    <p class={`status step-state ${step.done ? "good" : "waiting"}`}>
      <span class="dot" aria-hidden="true" />
      <span>
        <TextWithTimes text={step.detail} />
      </span>
    </p>
  );
