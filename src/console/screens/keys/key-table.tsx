import type { ApiKeyDto, ListApiKeysPage } from "../../../../sdk/src/generated/types.ts";
import { call } from "../../app/api.ts";
import { now } from "../../app/format.ts";
import { query } from "../../app/router.ts";
import { Status } from "../../components/status.tsx";
import { type Column, Table } from "../../components/table.tsx";
import { Time } from "../../components/time.tsx";
import { keysTexts } from "../../texts/keys.ts";

const words = keysTexts;

const PAGE_ROWS = 50;

/** Reads the page of keys that the address names. */
export function loadKeys(signal: AbortSignal): Promise<ListApiKeysPage> {
  const { before, after } = query.value;
  return call("GET", "/api/keys", { query: { before, after, limit: PAGE_ROWS }, signal });
}

type KeyState = "active" | "replaced" | "expired" | "revoked";

function stateOf({ revoked_at, expires_at, replaced_by }: ApiKeyDto): KeyState {
  const present = Math.max(now.value, Date.now());
  if (revoked_at !== null) return "revoked";
  if (expires_at !== null && Date.parse(expires_at) <= present) return "expired";
  return replaced_by === null ? "active" : "replaced";
}

const isEnded = (key: ApiKeyDto): boolean => stateOf(key) === "revoked" || stateOf(key) === "expired";

const COLUMNS: readonly Column<ApiKeyDto>[] = [
  {
    title: words.columns.name,
    isMain: true,
    cell: ({ name, prefix, last4 }) => (
      <span class="key-name">
        <span>{name}</span>
        <code class="soft">{words.excerpt(prefix, last4)}</code>
      </span>
    ),
  },
  { title: words.columns.state, isState: true, cell: (key) => <KeyStatus listed={key} /> },
  {
    title: words.columns.scopes,
    cell: ({ scopes }) => (
      <span class="key-scopes">
        {scopes.map((scope) => (
          <code key={scope}>{scope}</code>
        ))}
      </span>
    ),
  },
  {
    title: words.columns.created,
    cell: ({ created_at, created_by }) => (
      <span class="line key-created">
        <Time at={created_at} />
        <span class="soft">{creatorOf(created_by)}</span>
      </span>
    ),
  },
  {
    title: words.columns.used,
    cell: ({ last_used_at }) =>
      last_used_at ? <Time at={last_used_at} /> : <span class="soft">{words.neverUsed}</span>,
  },
];

function creatorOf(user: ApiKeyDto["created_by"]): string {
  if (user === null) return words.commandLine;
  return user.enabled === false ? words.disabledUser(user.name) : user.name;
}

/** The state of a key, and since or until when it has it. */
function KeyStatus({ listed }: { listed: ApiKeyDto }) {
  const state = stateOf(listed);
  const { revoked_at, expires_at } = listed;
  if (state === "revoked" || state === "expired")
    return <Status status={state} at={revoked_at ?? expires_at ?? undefined} />;
  return (
    <span class="key-state">
      <Status status={state} />
      {expires_at && (
        <small class="soft">
          {state === "replaced" ? words.stops : words.expires} <Time at={expires_at} />
        </small>
      )}
    </span>
  );
}

/** What can be asked for a key of the list. */
export interface KeyAction {
  action: "rotate" | "revoke";
  key: ApiKeyDto;
}

interface KeyTableProps {
  keys: readonly ApiKeyDto[];
  onAsk(asked: KeyAction): void;
}

/** The keys of the client, with the actions that the state of each allows. */
export const KeyTable = ({ keys, onAsk }: KeyTableProps) => (
  <Table
    caption={words.title}
    columns={[
      ...COLUMNS,
      { title: words.columns.action, cell: (key) => <KeyButtons listed={key} onAsk={onAsk} /> },
    ]}
    rows={keys}
    idOf={({ id }) => id}
    isQuiet={isEnded}
  />
);

const KeyButtons = ({ listed, onAsk }: { listed: ApiKeyDto } & Pick<KeyTableProps, "onAsk">) =>
  isEnded(listed) ? null : (
    <span class="key-actions">
      {stateOf(listed) === "active" && (
        <button type="button" class="small" onClick={() => onAsk({ action: "rotate", key: listed })}>
          {words.rotate.action}
        </button>
      )}
      <button type="button" class="small" onClick={() => onAsk({ action: "revoke", key: listed })}>
        {words.revoke.action}
      </button>
    </span>
  );
