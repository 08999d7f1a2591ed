import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
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
  /** Left out of a phone's menu when there are many entries. */
  isMinor?: boolean | undefined;
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
  useLayoutEffect(() => {
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
        <Menu entries={entries} />
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

/** A phone shows so many entries; with more, the minor ones are behind one entry. */
const MAX_PHONE_ENTRIES = 5;

function Menu({ entries }: { entries: readonly MenuEntry[] }) {
  const hidden = entries.length > MAX_PHONE_ENTRIES ? entries.filter(({ isMinor }) => isMinor) : [];
  return (
    <ul>
      {entries.map((entry) => (
        <li key={entry.href} class={hidden.includes(entry) ? "minor" : undefined}>
          <MenuLink {...entry} />
        </li>
      ))}
      {hidden.length > 0 && (
        <li class="more">
          <Popover class="more-entries" label={texts.more}>
            {hidden.map((entry) => (
              <MenuLink key={entry.href} {...entry} />
            ))}
          </Popover>
        </li>
      )}
    </ul>
  );
}

const MenuLink = ({ href, title }: MenuEntry) => (
  <a href={href} aria-current={isBelow(path.value, href) ? "page" : undefined}>
    {title}
  </a>
);

const isBelow = (present: string, href: string) =>
  present === href || (href !== "/console" && present.startsWith(`${href}/`));

const UserMenu = ({ caller }: { caller: MeDto }) => (
  <Popover class="user" label={caller.credential.name}>
    <p class="soft">
      {caller.client_name}, {texts.roles[caller.role ?? ""]}
    </p>
    <a href="/console/sessions">{texts.sessions.title}</a>
    <a href="/docs/" target="_blank" rel="noreferrer">
      {texts.guides}
    </a>
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
    <button type="button" onClick={() => signOut().catch((thrown) => showProblemToast(toProblem(thrown)))}>
      {texts.signOut}
    </button>
  </Popover>
);

interface PopoverProps {
  /** The class of the whole, which places the popover. */
  class: string;
  /** What opens it. */
  label: string;
  children: ComponentChildren;
}

/** A button that opens a list of links and actions. Each of these, a click elsewhere and Esc close it. */
function Popover({ class: name, label, children }: PopoverProps) {
  const element = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    const close = (event: Event) => {
      const isInside = event.target instanceof Node && element.current?.contains(event.target);
      const isAction = event.target instanceof Element && event.target.closest("a, button");
      if (element.current && (!isInside || isAction)) element.current.open = false;
    };
    document.addEventListener("click", close);
    return () => document.removeEventListener("click", close);
  }, []);
  return (
    <details
      class={name}
      ref={element}
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        event.currentTarget.open = false;
        event.currentTarget.querySelector("summary")?.focus();
      }}
    >
      <summary>{label}</summary>
      <div class="popover">{children}</div>
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
