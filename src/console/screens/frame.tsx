import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { MeDto } from "../../../sdk/src/generated/types.ts";
import { toProblem } from "../app/api.ts";
import { isKeyHelpOpen } from "../app/keyboard.ts";
import { path } from "../app/router.ts";
import { signOut } from "../app/session.ts";
import { Brand } from "../components/brand.tsx";
import { Dialog } from "../components/dialog.tsx";
import { Fact, Facts } from "../components/facts.tsx";
import { showProblemToast, ToastPlace } from "../components/toast.tsx";
import { texts } from "../texts.ts";
import { Search } from "./search.tsx";

export interface MenuEntry {
  href: string;
  title: string;
}

interface FrameProps {
  caller: MeDto;
  entries: readonly MenuEntry[];
  children: ComponentChildren;
}

/** The menu, the bar above the screen, and the screen. */
export function Frame({ caller, entries, children }: FrameProps) {
  const main = useRef<HTMLElement>(null);
  const shownPath = useRef(path.value);
  useEffect(() => {
    if (shownPath.current === path.value) return;
    shownPath.current = path.value;
    main.current?.focus({ preventScroll: true }); // a screen reader continues with the new screen
  }, [path.value]);
  return (
    <div class="frame">
      <a class="skip" href="#main">
        {texts.skip}
      </a>
      <nav class="menu" aria-label={texts.menu}>
        <a class="brand" href="/console">
          <Brand />
        </a>
        <p class="client" title={caller.client_id}>
          {caller.client_name}
        </p>
        <ul>
          {entries.map(({ href, title }) => (
            <li key={href}>
              <a href={href} aria-current={isBelow(path.value, href) ? "page" : undefined}>
                {title}
              </a>
            </li>
          ))}
        </ul>
      </nav>
      <header class="bar">
        <Search />
        <UserMenu caller={caller} />
      </header>
      <main id="main" tabIndex={-1} ref={main}>
        {children}
      </main>
      <ToastPlace />
      {isKeyHelpOpen.value && <KeyHelp />}
    </div>
  );
}

const isBelow = (present: string, href: string) => present === href || present.startsWith(`${href}/`);

function UserMenu({ caller }: { caller: MeDto }) {
  const menu = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    const close = (event: Event) => {
      const isInside = event.target instanceof Node && menu.current?.contains(event.target);
      const isLink = event.target instanceof Element && event.target.closest("a, button");
      if (menu.current && (!isInside || isLink)) menu.current.open = false;
    };
    document.addEventListener("click", close);
    return () => document.removeEventListener("click", close);
  }, []);
  return (
    <details
      class="user"
      ref={menu}
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        event.currentTarget.open = false;
        event.currentTarget.querySelector("summary")?.focus();
      }}
    >
      <summary>{caller.credential.name}</summary>
      <div class="popover">
        <p class="soft">
          {caller.client_name}, {texts.roles[caller.role ?? ""]}
        </p>
        <a href="/console/sessions">{texts.sessions.title}</a>
        <a href="/api/docs" target="_blank" rel="noreferrer">
          {texts.apiReference}
        </a>
        <button
          type="button"
          onClick={() => {
            isKeyHelpOpen.value = true;
          }}
        >
          {texts.keys.title}
        </button>
        <button
          type="button"
          onClick={() => signOut().catch((thrown) => showProblemToast(toProblem(thrown)))}
        >
          {texts.signOut}
        </button>
      </div>
    </details>
  );
}

const closeKeyHelp = () => {
  isKeyHelpOpen.value = false;
};

const KeyHelp = () => (
  <Dialog title={texts.keys.title} onClose={closeKeyHelp}>
    <Facts layout="rows">
      {texts.keys.list.map(([key, effect]) => (
        <Fact key={key} name={<kbd>{key}</kbd>}>
          {effect}
        </Fact>
      ))}
    </Facts>
    <div class="actions end">
      <button type="button" onClick={closeKeyHelp}>
        {texts.close}
      </button>
    </div>
  </Dialog>
);
