import { useState } from "preact/hooks";
import { SEARCH_FIELD } from "../app/keyboard.ts";
import { hrefOf, navigate } from "../app/router.ts";
import { showToast } from "../components/toast.tsx";
import { texts } from "../texts.ts";

/** Where an id leads, by its prefix. */
const ID_SCREENS: readonly [prefix: string, hrefOf: (id: string) => string][] = [
  ["msg_", (id) => `/console/messages/${encodeURIComponent(id)}`],
  ["evt_", (id) => `/console/events/${encodeURIComponent(id)}`],
  ["bat_", (id) => `/console/batches/${encodeURIComponent(id)}`],
  ["ch_", (id) => hrefOf("/console/messages", { channel_id: id })],
  ["act_", (id) => hrefOf("/console/ads", { q: id })],
  ["key_", () => "/console/keys"],
  ["ses_", () => "/console/sessions"],
];

/** Ids of things that have no screen. */
const OTHER_IDS = /^(req|usr|es|wamid)[_.]/i;

const PHONE_NUMBER = /^\+?[\d ()-]{7,20}$/;

/** Ids open their screen, a phone number the messages to it, any other text the messages with that reference. */
export function searchHref(text: string): string {
  const id = text.toLowerCase();
  const screen = ID_SCREENS.find(([prefix]) => id.startsWith(prefix));
  if (screen) return screen[1](id);
  if (PHONE_NUMBER.test(text)) return hrefOf("/console/messages", { to: text.replaceAll(/\D/g, "") });
  return hrefOf("/console/messages", { external_ref: text });
}

export function Search() {
  const [text, setText] = useState("");
  return (
    <search>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (text.trim() === "") return;
          if (OTHER_IDS.test(text.trim())) showToast(texts.search.otherId);
          else navigate(searchHref(text.trim()));
          setText("");
        }}
      >
        <input
          type="search"
          {...{ [SEARCH_FIELD]: "" }}
          aria-label={texts.search.label}
          aria-keyshortcuts="/"
          placeholder={texts.search.placeholder}
          autoComplete="off"
          spellcheck={false}
          value={text}
          onInput={({ currentTarget }) => setText(currentTarget.value)}
          onKeyDown={(event) => event.key === "Escape" && event.currentTarget.blur()}
        />
      </form>
    </search>
  );
}
