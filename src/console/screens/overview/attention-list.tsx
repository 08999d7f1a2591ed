import { now } from "../../app/format.ts";
import { hrefOf } from "../../app/router.ts";
import { may } from "../../app/session.ts";
import { Time } from "../../components/time.tsx";
import { overviewTexts } from "../../texts/overview.ts";
import { channelName } from "../channel-names.ts";
import { type Attention, countWaiting, findAttention } from "./attention.ts";
import type { Findings } from "./findings.ts";
import { SignupLink } from "./signup-link.tsx";

const words = overviewTexts.attention;

interface AttentionListProps {
  findings: Findings;
  isComplete: boolean;
  /** True while the client has not set up anything: that everything is delivered says nothing then. */
  isNew: boolean;
}

/** What a person should look at, or a sentence that there is nothing. */
export function AttentionList({ findings, isComplete, isNew }: AttentionListProps) {
  const items = findAttention(findings, channelName, now.value);
  return (
    <>
      {!isComplete && <p class="notice waiting">{words.incomplete}</p>}
      {items.length > 0 ? (
        <section class="panel" aria-labelledby="attention-title">
          <h2 id="attention-title">{words.title(items.length)}</h2>
          <ul class="attention">
            {items.map((item) => (
              <AttentionLine key={item.id} item={item} />
            ))}
          </ul>
        </section>
      ) : (
        isComplete && !isNew && <Nothing findings={findings} />
      )}
    </>
  );
}

const AttentionLine = ({ item: { tone, text, time, link, sample, channel } }: { item: Attention }) => (
  <li class={tone}>
    <span class="dot" aria-hidden="true" />
    <p>
      {text}{" "}
      {time && (
        <small class="soft">
          {time.word} <Time at={time.at} isDue={time.word === words.nextProbe} />
        </small>
      )}
    </p>
    <div class="actions">
      {sample && <a href={sample}>{words.see.sample}</a>}
      {link && <a href={hrefOf(link.path, link.query)}>{link.label}</a>}
      {channel && may("webhooks:manage") && (
        <SignupLink label={overviewTexts.signup.reconnect} channel={channel} />
      )}
    </div>
  </li>
);

function Nothing({ findings }: { findings: Findings }) {
  const { newestEvent } = findings;
  const waiting = countWaiting(findings);
  return (
    <p class="notice good">
      <span>
        {waiting > 0
          ? words.nothing.waiting(waiting)
          : newestEvent?.status === "delivered"
            ? words.nothing.delivered
            : words.nothing.other}{" "}
        {newestEvent && (
          <span class="soft">
            {words.nothing.lastEvent} <Time at={newestEvent.recorded_at} />.
          </span>
        )}
      </span>
    </p>
  );
}
