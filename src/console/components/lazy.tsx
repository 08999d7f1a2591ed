import type { ComponentType } from "preact";
import { Problem } from "../app/api.ts";
import { useLoaded } from "../app/loading.ts";
import { texts } from "../texts.ts";
import { Loading, ProblemNotice } from "./notices.tsx";

type Screen = ComponentType<{ id: string }>;

/** A screen whose code is loaded when it is first shown, so that it is no part of the first view. */
export function lazy(load: () => Promise<Screen>): Screen {
  let screen: Screen | undefined;
  async function loadOnce(): Promise<Screen> {
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
