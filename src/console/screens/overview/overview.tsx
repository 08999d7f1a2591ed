import type { SetupDto } from "../../../../sdk/src/generated/types.ts";
import { call } from "../../app/api.ts";
import { type Loaded, useLoaded, usePolling } from "../../app/loading.ts";
import { hrefOf, query } from "../../app/router.ts";
import { may } from "../../app/session.ts";
import { Heading } from "../../components/heading.tsx";
import { Loading } from "../../components/notices.tsx";
import { overviewTexts as words } from "../../texts/overview.ts";
import { texts } from "../../texts.ts";
import { EVENT_STATISTICS, LAST_24_HOURS, MESSAGE_STATISTICS, type Period } from "../activity.tsx";
import { AttentionList } from "./attention-list.tsx";
import { Checklist, isNewClient } from "./checklist.tsx";
import { FiguresPanel } from "./figures.tsx";
import { type FindingsReply, oldestEventAt, readFindings } from "./findings.ts";

const PERIODS: readonly [Period, ...Period[]] = [
  LAST_24_HOURS,
  { name: "7d", title: words.last7Days, interval: "day", bars: 7 },
  { name: "30d", title: words.last30Days, interval: "day", bars: 30 },
];

const REFRESH_MS = 15_000;

/** The first screen: what needs attention, what became of messages and events, and the setup of a new client. */
export function Overview() {
  const setup = useLoaded("", (signal) => call<SetupDto>("GET", "/api/setup", { signal }));
  const findings = useLoaded("", readFindings);
  const steps = setup.value?.data;
  const isSetUp = steps?.every(({ done }) => done) ?? false;
  usePolling(true, REFRESH_MS, findings.reload);
  usePolling(!isSetUp, REFRESH_MS, setup.reload);
  const isNew = steps !== undefined && isNewClient(steps);
  const checklist = steps && <Checklist steps={steps} />;
  return (
    <>
      <Heading title={words.title} />
      {isNew && checklist}
      <Loading loaded={findings}>
        {({ findings, isComplete }) => (
          <AttentionList findings={findings} isComplete={isComplete} isNew={isNew} />
        )}
      </Loading>
      {may("messages:send") && may("webhooks:manage") && !isNew && <Activities findings={findings} />}
      {!isNew && checklist}
    </>
  );
}

function Activities({ findings }: { findings: Loaded<FindingsReply> }) {
  const period = PERIODS.find(({ name }) => name === query.value.period) ?? LAST_24_HOURS;
  const queue = findings.value?.findings.queue;
  return (
    <>
      <PeriodLinks present={period} />
      <div class="halves">
        <FiguresPanel
          title={texts.messages.title}
          statistics={MESSAGE_STATISTICS}
          period={period}
          accepted={words.figures.acceptedMessages}
          succeeded={words.figures.sent}
          oldestAt={queue?.oldest_message_at}
        />
        <FiguresPanel
          title={texts.events.title}
          statistics={EVENT_STATISTICS}
          period={period}
          accepted={words.figures.recordedEvents}
          succeeded={words.figures.delivered}
          oldestAt={queue && oldestEventAt(queue)}
        />
      </div>
    </>
  );
}

const PeriodLinks = ({ present }: { present: Period }) => (
  <nav class="tabs" aria-label={words.periods.label}>
    {PERIODS.map(({ name }) => (
      <a
        key={name}
        href={hrefOf("/console", name === LAST_24_HOURS.name ? {} : { period: name })}
        aria-current={name === present.name ? "true" : undefined}
      >
        {words.periods[name as "24h" | "7d" | "30d"]}
      </a>
    ))}
  </nav>
);
