import { useState } from "preact/hooks";
import type { CreatedApiKeyDto } from "../../../../sdk/src/generated/types.ts";
import { useLoaded } from "../../app/loading.ts";
import { query } from "../../app/router.ts";
import { Heading } from "../../components/heading.tsx";
import { Empty, Loading } from "../../components/notices.tsx";
import { Pager } from "../../components/pager.tsx";
import { ShownSecret } from "../../components/secret.tsx";
import { keysTexts } from "../../texts/keys.ts";
import { RevokeKey, RotateKey } from "./key-actions.tsx";
import { type KeyAction, KeyTable, loadKeys } from "./key-table.tsx";
import { NewKey } from "./new-key.tsx";

const words = keysTexts;

/**
 * What lies above the list:
 * - a question: the person is asked for a new key, or about a key; it becomes a shown key, or ends;
 * - a shown key: its text is seen this once, until the person says that it is stored.
 */
type Above = { action: "create" } | KeyAction | { action: "show"; secret: string; note: string };

/** The API keys of the client, for owners and administrators. */
export function Keys() {
  const loaded = useLoaded(JSON.stringify(query.value), loadKeys);
  const [above, setAbove] = useState<Above>();
  // The list is read anew only now: a failure, or the end of the session, would take the shown key away.
  const close = () => {
    setAbove(undefined);
    void loaded.reload();
  };
  const show = ({ key: secret }: CreatedApiKeyDto, note: string) =>
    setAbove({ action: "show", secret, note });
  const createAction = (
    <button type="button" class="primary" onClick={() => setAbove({ action: "create" })}>
      {words.create.action}
    </button>
  );
  return (
    <>
      <Heading title={words.title} actions={createAction} />
      <Loading loaded={loaded}>
        {({ data, paging }) => (
          <>
            {data.length === 0 ? (
              <Empty title={words.none}>
                <p>{words.noneHint}</p>
              </Empty>
            ) : (
              <KeyTable keys={data} onAsk={setAbove} />
            )}
            <Pager paging={paging} />
          </>
        )}
      </Loading>
      {above?.action === "create" && (
        <NewKey onCreated={(key) => show(key, words.create.note)} onClose={close} />
      )}
      {above?.action === "rotate" && <RotateKey apiKey={above.key} onRotated={show} onClose={close} />}
      {above?.action === "revoke" && <RevokeKey apiKey={above.key} onClose={close} />}
      {above?.action === "show" && (
        <ShownSecret
          title={words.shown}
          name={words.theKey}
          secret={above.secret}
          note={above.note}
          onClose={close}
        />
      )}
    </>
  );
}
