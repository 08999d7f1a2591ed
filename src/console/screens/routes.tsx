import type { ComponentType } from "preact";
import { useEffect } from "preact/hooks";
import { matchRoute, navigate, path, type Route } from "../app/router.ts";
import { may, type Scope } from "../app/session.ts";
import { Heading } from "../components/heading.tsx";
import { Empty } from "../components/notices.tsx";
import { texts } from "../texts.ts";
import { EventScreen } from "./events/event.tsx";
import { EventList } from "./events/event-list.tsx";
import type { MenuEntry } from "./frame.tsx";
import { MessageScreen } from "./messages/message.tsx";
import { MessageList } from "./messages/message-list.tsx";
import { SendMessage } from "./messages/send-message.tsx";
import { Sessions } from "./sessions.tsx";

interface Screen {
  component: ComponentType<{ id: string }>;
  /** What the caller's role must have; the server checks it again. */
  scope?: Scope;
  /** The name in the menu; other screens are reached from these. */
  menu?: string;
}

/** All screens; add a new one here. */
const ROUTES: readonly Route<Screen>[] = [
  { path: "/console", screen: { component: Home } },
  {
    path: "/console/messages",
    screen: { component: MessageList, scope: "messages:send", menu: texts.messages.title },
  },
  { path: "/console/messages/new", screen: { component: SendMessage, scope: "messages:send" } },
  { path: "/console/messages/:id", screen: { component: MessageScreen, scope: "messages:send" } },
  {
    path: "/console/events",
    screen: { component: EventList, scope: "webhooks:manage", menu: texts.events.title },
  },
  { path: "/console/events/:id", screen: { component: EventScreen, scope: "webhooks:manage" } },
  { path: "/console/sessions", screen: { component: Sessions } },
];

const isAllowed = ({ scope }: Screen) => scope === undefined || may(scope);

/** The entries of the menu that the caller's role may see. */
export const menuEntries = (): MenuEntry[] =>
  ROUTES.flatMap(({ path, screen }) =>
    screen.menu !== undefined && isAllowed(screen) ? [{ href: path, title: screen.menu }] : [],
  );

/** The screen at the present address. */
export function CurrentScreen() {
  const match = matchRoute(ROUTES, path.value);
  if (!match) return <Message title={texts.notFound.title} text={texts.notFound.text} />;
  if (!isAllowed(match.screen))
    return <Message title={texts.notAllowed.title} text={texts.notAllowed.text} />;
  const { component: Component } = match.screen;
  const { id = "" } = match.params;
  // The key makes another object another screen: nothing of the former one is shown with it.
  return <Component key={path.value} id={id} />;
}

/** Leads to the first entry of the menu. */
function Home() {
  const [first] = menuEntries();
  useEffect(() => {
    if (first) navigate(first.href, { replace: true });
  }, [first?.href]);
  return first ? null : <Message title={texts.welcome.title} text={texts.welcome.text} />;
}

const Message = ({ title, text }: { title: string; text: string }) => (
  <>
    <Heading title={title} />
    <Empty title={text} />
  </>
);
