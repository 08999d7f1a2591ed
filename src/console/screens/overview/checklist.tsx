import type { SetupDto, SetupStepDto } from "../../../../sdk/src/generated/types.ts";
import { may, type Scope } from "../../app/session.ts";
import { StatusText } from "../../components/status.tsx";
import { TextWithTimes } from "../../components/time.tsx";
import { overviewTexts } from "../../texts/overview.ts";
import { SignupLink } from "./signup-link.tsx";

type Step = SetupStepDto["step"];
type Steps = SetupDto["data"];

const words = overviewTexts.setup;

/** The two uses of Herald; a client may need one only. */
const GROUPS: readonly { title: string; steps: readonly Step[] }[] = [
  { title: words.messaging, steps: ["webhook_address", "webhook_secret", "channel", "message", "event"] },
  { title: words.ads, steps: ["terms", "ad_account"] },
];

interface NextClick {
  scope: Scope;
  /** The screen on which the step is done; without it a link to the signup page is made. */
  href?: string;
}

const NEXT_CLICKS: Readonly<Record<Step, NextClick>> = {
  webhook_address: { scope: "webhooks:manage", href: "/console/webhooks" },
  webhook_secret: { scope: "webhooks:manage", href: "/console/webhooks" },
  channel: { scope: "webhooks:manage" },
  message: { scope: "messages:send", href: "/console/messages/new" },
  event: { scope: "webhooks:manage", href: "/console/events" },
  terms: { scope: "marketing:read", href: "/console/ads/terms" },
  ad_account: { scope: "marketing:manage", href: "/console/ads" },
};

const stepsOf = (steps: Steps, names: readonly Step[]): Steps =>
  steps.filter(({ step }) => names.includes(step));

const areDone = (steps: Steps): boolean => steps.every(({ done }) => done);

/**
 * True until the client has sent a message and received an event, or works with an ad account. Other steps do not count: they
 * become open again when a delivery fails or new terms are published.
 */
export const isNewClient = (steps: Steps): boolean =>
  !areDone(stepsOf(steps, ["message", "event"])) && !areDone(stepsOf(steps, ["ad_account"]));

/** The steps of the setup that a client has to take, each with its next click; those of a finished use are left out. */
export function Checklist({ steps }: { steps: Steps }) {
  const open = GROUPS.map((group) => ({ ...group, steps: stepsOf(steps, group.steps) })).filter(
    (group) => !areDone(group.steps),
  );
  if (open.length === 0) return null;
  const isOpen = isNewClient(steps);
  return (
    <section class="panel" aria-labelledby="setup-title">
      <h2 id="setup-title">{words.title}</h2>
      {open.map(({ title, steps }) => (
        <details key={title} class="checklist" open={isOpen}>
          <summary>
            {title}{" "}
            <span class="soft">{words.done(steps.filter(({ done }) => done).length, steps.length)}</span>
          </summary>
          <ol>
            {steps.map((step) => (
              <SetupStep key={step.step} {...step} />
            ))}
          </ol>
        </details>
      ))}
    </section>
  );
}

const SetupStep = ({ step, done, detail, documentation }: SetupStepDto) => (
  <li>
    <StatusText tone={done ? "good" : "waiting"} text={done ? words.isDone : words.isOpen} />
    <div>
      <strong>{words.steps[step].title}</strong>
      <p class="soft">
        <TextWithTimes text={detail} />
      </p>
    </div>
    {!done && (
      <div class="actions">
        <NextStep step={step} />
        <a href={documentation} target="_blank" rel="noreferrer">
          {words.guide}
        </a>
      </div>
    )}
  </li>
);

function NextStep({ step }: { step: Step }) {
  const { scope, href } = NEXT_CLICKS[step];
  const { next } = words.steps[step];
  if (!may(scope)) return null;
  if (href === undefined) return <SignupLink label={next} />;
  return (
    <a class="button" href={href}>
      {next}
    </a>
  );
}
