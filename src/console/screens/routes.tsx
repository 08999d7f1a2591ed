import type { ComponentType } from "preact";
import { Problem } from "../app/api.ts";
import { useLoaded } from "../app/loading.ts";
import { matchRoute, path, type Route } from "../app/router.ts";
import { isManager, may, type Scope } from "../app/session.ts";
import { Heading } from "../components/heading.tsx";
import { Empty, Loading, ProblemNotice } from "../components/notices.tsx";
import { overviewTexts } from "../texts/overview.ts";
import { texts } from "../texts.ts";
import { EventScreen } from "./events/event.tsx";
import { EventList } from "./events/event-list.tsx";
import type { MenuEntry } from "./frame.tsx";
import { MessageScreen } from "./messages/message.tsx";
import { MessageList } from "./messages/message-list.tsx";
import { SendMessage } from "./messages/send-message.tsx";
import { Overview } from "./overview/overview.tsx";
import { Sessions } from "./sessions.tsx";

type ScreenComponent = ComponentType<{ id: string }>;

interface Screen {
  component: ScreenComponent;
  /** What the caller's role must have; the server checks it again. */
  scope?: Scope;
  /** Only for owners and administrators. */
  isForManagers?: true;
  /** The name in the menu; other screens are reached from these. */
  menu?: string;
  /** Left out of a phone's menu when there are many entries. */
  isMinor?: true;
}

/** A screen whose code is loaded when it is first shown, so that it is no part of the first view. */
function lazy(load: () => Promise<ScreenComponent>): ScreenComponent {
  let screen: ScreenComponent | undefined;
  async function loadOnce(): Promise<ScreenComponent> {
    screen ??= await load().catch(() => {
      throw new Problem(texts.notLoaded);
    });
    return screen;
  }
  return function Lazy(props: { id: string }) {
    const loaded = useLoaded("", loadOnce);
    const Loaded = screen;
    if (Loaded) return <Loaded {...props} />;
    // The server no longer has the files of an older version: only a new document names those of the present one.
    if (loaded.problem) return <ProblemNotice problem={loaded.problem} onRetry={() => location.reload()} />;
    return <Loading loaded={loaded}>{() => null}</Loading>;
  };
}

const Webhooks = lazy(() => import("./webhooks/webhooks.tsx").then((file) => file.Webhooks));
const BatchList = lazy(() => import("./batches/batch-list.tsx").then((file) => file.BatchList));
const BatchScreen = lazy(() => import("./batches/batch.tsx").then((file) => file.BatchScreen));
const AdAccounts = lazy(() => import("./ads/ad-accounts.tsx").then((file) => file.AdAccounts));
const Terms = lazy(() => import("./ads/terms.tsx").then((file) => file.Terms));
const ConnectAdAccounts = lazy(() => import("./ads/connect.tsx").then((file) => file.ConnectAdAccounts));
const Keys = lazy(() => import("./keys/keys.tsx").then((file) => file.Keys));

/** All screens, in the order of the menu; add a new one here. */
const ROUTES: readonly Route<Screen>[] = [
  { path: "/console", screen: { component: Overview, menu: overviewTexts.title } },
  {
    path: "/console/messages",
    screen: { component: MessageList, scope: "messages:send", menu: texts.messages.title },
  },
  { path: "/console/messages/new", screen: { component: SendMessage, scope: "messages:send" } },
  { path: "/console/messages/:id", screen: { component: MessageScreen, scope: "messages:send" } },
  {
    path: "/console/batches",
    screen: { component: BatchList, scope: "messages:send", menu: texts.menuEntries.batches, isMinor: true },
  },
  { path: "/console/batches/:id", screen: { component: BatchScreen, scope: "messages:send" } },
  {
    path: "/console/events",
    screen: { component: EventList, scope: "webhooks:manage", menu: texts.events.title },
  },
  { path: "/console/events/:id", screen: { component: EventScreen, scope: "webhooks:manage" } },
  {
    path: "/console/webhooks",
    screen: {
      ...{ component: Webhooks, scope: "webhooks:manage" },
      ...{ menu: texts.menuEntries.webhooks, isMinor: true },
    },
  },
  {
    path: "/console/ads",
    screen: { component: AdAccounts, scope: "marketing:read", menu: texts.menuEntries.ads },
  },
  { path: "/console/ads/terms", screen: { component: Terms, scope: "marketing:read" } },
  { path: "/console/ads/connect", screen: { component: ConnectAdAccounts, scope: "marketing:manage" } },
  {
    path: "/console/keys",
    screen: { component: Keys, isForManagers: true, menu: texts.menuEntries.keys, isMinor: true },
  },
  { path: "/console/sessions", screen: { component: Sessions } },
];

const isAllowed = ({ scope, isForManagers }: Screen) =>
  (scope === undefined || may(scope)) && (!isForManagers || isManager());

/** The entries of the menu that the caller's role may see. */
export const menuEntries = (): MenuEntry[] =>
  ROUTES.flatMap(({ path, screen }) => {
    const { menu: title, isMinor } = screen;
    return title !== undefined && isAllowed(screen) ? [{ href: path, title, isMinor }] : [];
  });

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

const Message = ({ title, text }: { title: string; text: string }) => (
  <>
    <Heading title={title} />
    <Empty title={text} />
  </>
);
