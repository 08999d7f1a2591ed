import { useState } from "preact/hooks";
import { useAction } from "../app/loading.ts";
import { identityProvider, signIn } from "../app/session.ts";
import { Brand } from "../components/brand.tsx";
import { TextField } from "../components/field.tsx";
import { ProblemNotice } from "../components/notices.tsx";
import { texts } from "../texts.ts";

/** Shown instead of any screen while there is no session; the address stays, so that the same place appears afterwards. */
export function SignIn({ hasEnded }: { hasEnded: boolean }) {
  const provider = identityProvider();
  document.title = texts.windowTitle(texts.signIn.title);
  return (
    <main class="sign-in">
      <div class="card">
        <p class="brand">
          <Brand />
        </p>
        <h1>{texts.signIn.title}</h1>
        {hasEnded && <p class="notice">{texts.signIn.ended}</p>}
        {provider === "" ? <PasswordForm /> : <ProviderNote provider={provider} />}
      </div>
    </main>
  );
}

function PasswordForm() {
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const action = useAction(() => signIn(email, password));
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void action.run();
      }}
    >
      <TextField
        label={texts.signIn.email}
        input={{ type: "email", name: "email", autoComplete: "username" }}
        isRequired
        value={email}
        onInput={setEmail}
      />
      <TextField
        label={texts.signIn.password}
        input={{ type: "password", name: "password", autoComplete: "current-password" }}
        isRequired
        value={password}
        onInput={setPassword}
      />
      {action.problem && <ProblemNotice problem={action.problem} />}
      <button type="submit" class="primary wide" disabled={action.isRunning}>
        {texts.signIn.action}
      </button>
    </form>
  );
}

/** Only an address that a browser may open becomes a link. */
const isWebAddress = (text: string) => /^https?:\/\//.test(text);

const ProviderNote = ({ provider }: { provider: string }) => (
  <>
    <p>{texts.signIn.provider}</p>
    <p>{isWebAddress(provider) ? <a href={provider}>{provider}</a> : <code>{provider}</code>}</p>
    <p class="soft">{texts.signIn.providerHint}</p>
    <button type="button" class="primary wide" onClick={() => location.reload()}>
      {texts.signIn.continueAction}
    </button>
  </>
);
