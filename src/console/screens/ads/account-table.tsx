import type { AdAccountDto } from "../../../../sdk/src/generated/types.ts";
import { may } from "../../app/session.ts";
import { StatusText, type Tone } from "../../components/status.tsx";
import { type Column, Table } from "../../components/table.tsx";
import { Time } from "../../components/time.tsx";
import { adsTexts as words } from "../../texts/ads.ts";
import { endsSoon } from "../ad-access.ts";
import { AccountActions } from "./account-actions.tsx";

const TONES: Readonly<Record<AdAccountDto["status"], Tone>> = {
  available: "waiting",
  active: "good",
  disabled: "none",
  revoked: "bad",
};

const COLUMNS: readonly Column<AdAccountDto>[] = [
  {
    title: words.columns.name,
    isMain: true,
    cell: ({ name, business_name }) => (
      <>
        {name} {business_name && business_name !== name && <small class="soft">{business_name}</small>}
      </>
    ),
  },
  {
    title: words.columns.status,
    isState: true,
    cell: ({ status }) => <StatusText tone={TONES[status]} text={words.statuses[status]} />,
  },
  {
    title: words.columns.id,
    cell: ({ ad_account_id }) => <code class="name">{ad_account_id}</code>,
  },
  {
    title: words.columns.platform,
    cell: (account) => <PlatformStatus account={account} />,
  },
  { title: words.columns.currency, isMinor: true, cell: ({ currency }) => currency },
  { title: words.columns.expires, cell: (account) => <Expiry account={account} /> },
];

/** Ads of an account that is not active at the platform do not run. */
function PlatformStatus({ account: { status, account_status_label: label } }: { account: AdAccountDto }) {
  if (status === "revoked") return <span class="soft">{words.revokedHint}</span>;
  const text = words.platformStatuses[label];
  return label === "active" ? text : <StatusText tone="waiting" text={text} />;
}

function Expiry({ account }: { account: AdAccountDto }) {
  const { status, token_expires_at: at } = account;
  if (status === "revoked") return null;
  if (at === null) return words.never;
  return endsSoon(account, Date.now()) ? (
    <StatusText tone="waiting" text={<Time at={at} />} />
  ) : (
    <Time at={at} />
  );
}

interface AccountTableProps {
  accounts: readonly AdAccountDto[];
  /** True while the terms are accepted: without them nothing can be changed. */
  isChangeable: boolean;
  onChange(account: AdAccountDto): void;
}

/** Ad accounts, each with what can be done with it. */
export function AccountTable({ accounts, isChangeable, onChange }: AccountTableProps) {
  const actions: Column<AdAccountDto> = {
    title: words.columns.action,
    cell: (account) => <AccountActions account={account} onChange={onChange} />,
  };
  return (
    <Table
      caption={words.accounts}
      columns={isChangeable && may("marketing:manage") ? [...COLUMNS, actions] : COLUMNS}
      rows={accounts}
      idOf={({ id }) => id}
    />
  );
}
