import { useState } from "preact/hooks";
import type { AdAccountDto } from "../../../../sdk/src/generated/types.ts";
import { call, toProblem } from "../../app/api.ts";
import { useAction } from "../../app/loading.ts";
import { Question } from "../../components/dialog.tsx";
import { showProblemToast, showToast } from "../../components/toast.tsx";
import { adsTexts as words } from "../../texts/ads.ts";
import { beginLogin } from "./login.ts";

interface ActionsProps {
  account: AdAccountDto;
  /** Called after a change, with what the server says now. */
  onChange(account: AdAccountDto): void;
}

/** What can be done with an account in its state. */
export function AccountActions({ account, onChange }: ActionsProps) {
  const [isAsked, setAsked] = useState(false);
  const { status } = account;
  if (status === "revoked") return <ConnectButton label={words.reconnect} isSmall />;
  return (
    <div class="actions">
      {status === "active" ? (
        <button type="button" class="small" onClick={() => setAsked(true)}>
          {words.disable.action}
        </button>
      ) : (
        <Activate account={account} onChange={onChange} />
      )}
      <Refresh account={account} onChange={onChange} />
      {isAsked && <Disable account={account} onChange={onChange} onClose={() => setAsked(false)} />}
    </div>
  );
}

const pathOf = ({ id }: AdAccountDto) => `/api/marketing/ad-accounts/${id}`;

const setStatus = (account: AdAccountDto, status: "active" | "disabled"): Promise<AdAccountDto> =>
  call("PATCH", pathOf(account), { body: { status } });

function Activate({ account, onChange }: ActionsProps) {
  const action = useAction(async () => {
    try {
      const changed = await setStatus(account, "active");
      // The platform may have rejected the access on this occasion.
      showToast((changed.status === "active" ? words.activated : words.accessLost)(account.name));
      onChange(changed);
    } catch (thrown) {
      showProblemToast(toProblem(thrown));
    }
  });
  return (
    <button type="button" class="small primary" aria-disabled={action.isRunning} onClick={action.run}>
      {words.activate}
    </button>
  );
}

function Refresh({ account, onChange }: ActionsProps) {
  const action = useAction(async () => {
    try {
      onChange(await call<AdAccountDto>("POST", `${pathOf(account)}/refresh`));
      showToast(words.refreshed(account.name));
    } catch (thrown) {
      showProblemToast(toProblem(thrown));
      onChange(await call<AdAccountDto>("GET", pathOf(account))); // a dead token has revoked it
    }
  });
  return (
    <button type="button" class="small" aria-disabled={action.isRunning} onClick={action.run}>
      {words.refresh}
    </button>
  );
}

const Disable = ({ account, onChange, onClose }: ActionsProps & { onClose(): void }) => (
  <Question
    title={words.disable.title(account.name)}
    action={words.disable.action}
    act={async () => {
      const changed = await setStatus(account, "disabled");
      onClose();
      showToast(words.disable.done(account.name));
      onChange(changed);
    }}
    onClose={onClose}
  >
    <p>{words.disable.consequence}</p>
  </Question>
);

interface ConnectButtonProps {
  label: string;
  isSmall?: boolean;
}

/** Leads to the ad platform's login. */
export function ConnectButton({ label, isSmall }: ConnectButtonProps) {
  const action = useAction(async () => {
    await beginLogin().catch((thrown) => showProblemToast(toProblem(thrown)));
  });
  return (
    <button
      type="button"
      class={isSmall ? "small primary" : "primary"}
      aria-disabled={action.isRunning}
      onClick={action.run}
    >
      {label}
    </button>
  );
}
