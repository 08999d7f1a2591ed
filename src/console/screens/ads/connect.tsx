import { useEffect, useState } from "preact/hooks";
import type { AdAccountDto } from "../../../../sdk/src/generated/types.ts";
import { Problem } from "../../app/api.ts";
import { useLoaded } from "../../app/loading.ts";
import { navigate, path, query } from "../../app/router.ts";
import { Heading } from "../../components/heading.tsx";
import { Empty, ProblemNotice } from "../../components/notices.tsx";
import { adsTexts } from "../../texts/ads.ts";
import { ConnectButton } from "./account-actions.tsx";
import { AccountTable } from "./account-table.tsx";
import { exchangeCode, takeRedirectUri } from "./login.ts";

const words = adsTexts.login;

/**
 * Completes a login at the ad platform. The view at /console/oauth leads here with what the platform returned; a person whose
 * session has ended meanwhile signs in first.
 */
export function ConnectAdAccounts() {
  const [returned] = useState(() => query.value);
  useEffect(() => {
    navigate(path.value, { replace: true }); // a code works once: a reload must not try it again
  }, []);
  return (
    <>
      <Heading title={words.title} parent={{ title: adsTexts.title, href: "/console/ads" }} />
      {returned.state === undefined ? (
        <Empty title={words.notBegun}>
          <p>
            <a href="/console/ads">{words.all}</a>
          </p>
        </Empty>
      ) : returned.error === undefined ? (
        <Exchange code={returned.code ?? ""} state={returned.state} />
      ) : (
        <Refused text={words.denied} reason={returned.error_description ?? returned.error} />
      )}
    </>
  );
}

async function completeLogin(code: string, state: string): Promise<AdAccountDto[]> {
  const redirect_uri = takeRedirectUri(state);
  if (redirect_uri === undefined) throw new Problem(words.otherBrowser);
  return exchangeCode({ code, state, redirect_uri });
}

function Exchange({ code, state }: { code: string; state: string }) {
  const [changed, setChanged] = useState<readonly AdAccountDto[]>([]);
  const { value, problem } = useLoaded(state, () => completeLogin(code, state));
  if (problem)
    return (
      <>
        <ProblemNotice problem={problem} />
        <Refused text={words.failed} />
      </>
    );
  if (!value) return <p role="status">{words.running}</p>;
  if (value.length === 0) return <Refused text={words.noAccounts} />;
  const latest = (account: AdAccountDto) => changed.findLast(({ id }) => id === account.id) ?? account;
  return (
    <>
      <p role="status">
        <strong>{words.done(value.length)}</strong> {words.next}
      </p>
      <AccountTable
        accounts={value.map(latest)}
        isChangeable
        onChange={(account) => setChanged([...changed, account])}
      />
      <p>
        <a href="/console/ads">{words.all}</a>
      </p>
    </>
  );
}

const Refused = ({ text, reason }: { text: string; reason?: string }) => (
  <Empty title={text}>
    {reason && (
      <p>
        {words.reason}: {reason}
      </p>
    )}
    <div class="actions centred">
      <ConnectButton label={adsTexts.reconnect} />
      <a href="/console/ads">{words.all}</a>
    </div>
  </Empty>
);
