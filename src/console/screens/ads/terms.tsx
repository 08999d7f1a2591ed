import { useState } from "preact/hooks";
import type { MarketingTermsStatusDto, MarketingTermsTextDto } from "../../../../sdk/src/generated/types.ts";
import { call } from "../../app/api.ts";
import { type Action, useAction, useLoaded } from "../../app/loading.ts";
import { clientName, isManager } from "../../app/session.ts";
import { Fact, Facts } from "../../components/facts.tsx";
import { CheckField } from "../../components/field.tsx";
import { Heading } from "../../components/heading.tsx";
import { Loading, ProblemNotice } from "../../components/notices.tsx";
import { StatusText } from "../../components/status.tsx";
import { Time } from "../../components/time.tsx";
import { showToast } from "../../components/toast.tsx";
import { adsTexts } from "../../texts/ads.ts";

const words = adsTexts.terms;

interface LoadedTerms {
  status: MarketingTermsStatusDto;
  text: string;
}

/** The text and the status are of the same version: a new one may be published between the two answers. */
async function loadTerms(signal: AbortSignal): Promise<LoadedTerms> {
  const [status, { version, text }] = await Promise.all([
    call<MarketingTermsStatusDto>("GET", "/api/marketing/terms", { signal }),
    call<MarketingTermsTextDto>("GET", "/api/marketing/terms/text", { signal }),
  ]);
  return version === status.version ? { status, text } : loadTerms(signal);
}

/** The terms in force. An owner or administrator reads and accepts them here. */
export function Terms() {
  const loaded = useLoaded("", loadTerms);
  const action = useAction(async () => {
    const version = loaded.value?.status.version;
    try {
      await call<MarketingTermsStatusDto>("POST", "/api/marketing/terms/accept", { body: { version } });
      showToast(words.done);
    } finally {
      await loaded.reload(); // a refusal may mean that another version is in force now
    }
  });
  return (
    <>
      <Heading title={words.title} parent={{ title: adsTexts.title, href: "/console/ads" }} />
      <Loading loaded={loaded}>
        {({ status, text }) => (
          <>
            <Acceptance status={status} />
            <section class="panel terms-text">{text}</section>
            {status.accepted ? (
              <p>
                <a href="/console/ads">{words.next}</a>
              </p>
            ) : (
              <AcceptForm key={status.version} action={action} />
            )}
          </>
        )}
      </Loading>
    </>
  );
}

const Acceptance = ({ status }: { status: MarketingTermsStatusDto }) => (
  <Facts>
    <Fact name={words.version}>{status.version}</Fact>
    <Fact name={words.accepted}>
      {status.accepted && status.accepted_at ? (
        <StatusText tone="good" text={<Time at={status.accepted_at} />} />
      ) : (
        <StatusText tone="waiting" text={words.notAccepted} />
      )}
    </Fact>
    {status.accepted && status.accepted_by && (
      <Fact name={words.acceptedBy}>{words.person(status.accepted_by)}</Fact>
    )}
  </Facts>
);

/** Asked anew for each version. */
function AcceptForm({ action }: { action: Action }) {
  const [hasRead, setRead] = useState(false);
  if (!isManager()) return <p class="notice">{words.onlyManagers}</p>;
  return (
    <form
      class="form"
      onSubmit={(event) => {
        event.preventDefault();
        void action.run();
      }}
    >
      <CheckField
        label={words.consent(clientName())}
        hint={words.recorded}
        isRequired
        isChecked={hasRead}
        onChange={setRead}
      />
      {action.problem && <ProblemNotice problem={action.problem} />}
      <div class="actions">
        <button type="submit" class="primary" aria-disabled={action.isRunning}>
          {words.action}
        </button>
      </div>
    </form>
  );
}
