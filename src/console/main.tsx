import { render } from "preact";
import { useEffect, useErrorBoundary } from "preact/hooks";
import { startClock } from "./app/format.ts";
import { startKeyboard } from "./app/keyboard.ts";
import { startRouter } from "./app/router.ts";
import { identityOf, readSession, session, startSession } from "./app/session.ts";
import { ProblemNotice } from "./components/notices.tsx";
import { loadChannels } from "./screens/channel-names.ts";
import { Frame } from "./screens/frame.tsx";
import { CurrentScreen, menuEntries } from "./screens/routes.tsx";
import { SignIn } from "./screens/sign-in.tsx";
import { texts } from "./texts.ts";

function Console() {
  const present = session.value;
  const identity = present.state === "signed_in" ? identityOf(present.caller) : undefined;
  const [fault] = useErrorBoundary();
  useEffect(() => {
    if (identity !== undefined) void loadChannels();
  }, [identity]);
  if (fault !== undefined) return <Failed />;
  switch (present.state) {
    case "unknown":
      return null;
    case "unavailable":
      return (
        <main class="sign-in">
          <ProblemNotice problem={present.problem} onRetry={() => void readSession()} />
        </main>
      );
    case "signed_out":
      return <SignIn hasEnded={present.hasEnded} />;
    case "signed_in":
      return (
        <Frame key={identity} caller={present.caller} entries={menuEntries()}>
          <CurrentScreen />
        </Frame>
      );
  }
}

/** Shown instead of an empty page when the code of a screen fails. */
const Failed = () => (
  <main class="sign-in">
    <div class="card" role="alert">
      <p>{texts.unexpectedFault}</p>
      <button type="button" class="primary wide" onClick={() => location.reload()}>
        {texts.reload}
      </button>
    </div>
  </main>
);

startRouter();
startKeyboard();
startClock();
startSession();
render(<Console />, document.getElementById("app") as HTMLElement);
