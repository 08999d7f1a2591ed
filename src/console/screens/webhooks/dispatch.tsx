import { useState } from "preact/hooks";
import type { WebhookConfigResponseDto } from "../../../../sdk/src/generated/types.ts";
import { toProblem } from "../../app/api.ts";
import { useAction } from "../../app/loading.ts";
import { hrefOf } from "../../app/router.ts";
import { Question } from "../../components/dialog.tsx";
import { Switch } from "../../components/switch.tsx";
import { type Column, Table } from "../../components/table.tsx";
import { showProblemToast } from "../../components/toast.tsx";
import { webhooksTexts } from "../../texts/webhooks.ts";
import { type DispatchRow, dispatchRows, type EventKey, switchDispatch } from "./config.ts";
import { WaitingEvents } from "./waiting-events.tsx";

const words = webhooksTexts.dispatch;
const names = webhooksTexts.keys;

interface DispatchProps {
  config: WebhookConfigResponseDto;
  onChange(): Promise<unknown>;
}

/** Which events are sent to which path, with a switch for each kind. */
export function Dispatch({ config, onChange }: DispatchProps) {
  const { webhook_url: base, dispatch_urls } = config;
  const columns: Column<DispatchRow>[] = [
    {
      title: words.columns.name,
      isMain: true,
      cell: ({ key }) => (
        <span class="line">
          {names[key]} <code class="soft">{key}</code>
        </span>
      ),
    },
    {
      title: words.columns.state,
      isState: true,
      cell: ({ key, isEnabled }) =>
        isEnabled === undefined ? (
          <span class="soft">{words.always}</span>
        ) : (
          <DispatchSwitch eventKey={key} isOn={isEnabled} onChange={onChange} />
        ),
    },
    {
      title: words.columns.paths,
      cell: (row) => <Routes row={row} base={base} />,
    },
    {
      title: words.columns.events,
      cell: ({ key }) => (
        <a href={hrefOf("/console/events", { key })} aria-label={words.eventsOf(names[key])}>
          {words.seeEvents}
        </a>
      ),
    },
  ];
  return (
    <>
      {base === "" ? (
        <p class="soft">{words.noPaths}</p>
      ) : (
        <p class="soft base">
          {words.paths} <code>{base}</code>
        </p>
      )}
      <Table
        caption={words.caption}
        columns={columns}
        rows={dispatchRows(dispatch_urls)}
        idOf={({ key }) => key}
      />
    </>
  );
}

/** The paths below the address, each with its types; without an address only the types. */
function Routes({ row: { routes }, base }: { row: DispatchRow; base: string }) {
  const pathOf = (url: string | null) => url?.slice(base.length) ?? "";
  const main = pathOf(routes.at(-1)?.url ?? null);
  const count = routes.reduce((sum, { events }) => sum + events.length, 0);
  return (
    <details class="routes">
      <summary>
        {main !== "" && <code>{main}</code>} <span class="soft">{words.types(count)}</span>
      </summary>
      <dl class="paths">
        {routes.map(({ url, events }) => (
          <div key={events.join()}>
            {url !== null && (
              <dt>
                <code title={url}>{pathOf(url)}</code>
              </dt>
            )}
            <dd>
              {events.map((type) => (
                <span key={type}>{type}</span>
              ))}
            </dd>
          </div>
        ))}
      </dl>
    </details>
  );
}

interface SwitchProps {
  eventKey: EventKey;
  isOn: boolean;
  onChange(): Promise<unknown>;
}

/** Switches on at once, and off after a question. */
function DispatchSwitch({ eventKey, isOn, onChange }: SwitchProps) {
  const [isAsked, setAsked] = useState(false);
  const name = names[eventKey];
  const enabling = useAction(async () => {
    try {
      await switchDispatch(eventKey, true);
      await onChange();
    } catch (thrown) {
      showProblemToast(toProblem(thrown)); // a cell has no space for a notice
    }
  });
  return (
    <>
      <Switch
        isOn={isOn}
        isBusy={enabling.isRunning}
        onChange={() => (isOn ? setAsked(true) : enabling.run())}
      >
        <span class="hidden">{words.send(name)}</span>
        <span aria-hidden="true">{isOn ? words.on : words.off}</span>
      </Switch>
      {isAsked && <DisableKey eventKey={eventKey} onChange={onChange} onClose={() => setAsked(false)} />}
    </>
  );
}

function DisableKey({ eventKey, onChange, onClose }: Omit<SwitchProps, "isOn"> & { onClose(): void }) {
  const name = names[eventKey];
  return (
    <Question
      title={words.disable.title(name)}
      action={words.disable.action}
      act={async () => {
        await switchDispatch(eventKey, false);
        onClose();
        await onChange();
      }}
      onClose={onClose}
    >
      <p>{words.disable.consequence(name)}</p>
      <WaitingEvents eventKey={eventKey} />
    </Question>
  );
}
