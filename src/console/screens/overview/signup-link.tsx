import { useState } from "preact/hooks";
import type {
  ChannelDto,
  CreatedEmbedSessionDto,
  CreateEmbedSessionDto,
} from "../../../../sdk/src/generated/types.ts";
import { call, toProblem } from "../../app/api.ts";
import { useAction } from "../../app/loading.ts";
import { Dialog } from "../../components/dialog.tsx";
import { Time } from "../../components/time.tsx";
import { copyText, showProblemToast } from "../../components/toast.tsx";
import { overviewTexts } from "../../texts/overview.ts";
import { texts } from "../../texts.ts";

const words = overviewTexts.signup;

const PLATFORMS = ["chatapp", "photoapp", "socialapp"] as const;

interface SignupLinkProps {
  label: string;
  /** The channel to connect again; without it a channel of any platform is connected. */
  channel?: ChannelDto | undefined;
}

/** Makes a link to the signup page. The person who manages the channel may be somebody else. */
export function SignupLink({ label, channel }: SignupLinkProps) {
  const [session, setSession] = useState<CreatedEmbedSessionDto>();
  const action = useAction(async () => {
    try {
      setSession(await createSession(channel));
    } catch (thrown) {
      showProblemToast(toProblem(thrown));
    }
  });
  return (
    <>
      <button type="button" class="small primary" aria-disabled={action.isRunning} onClick={action.run}>
        {label}
      </button>
      {session && <LinkDialog session={session} onClose={() => setSession(undefined)} />}
    </>
  );
}

function createSession(channel: ChannelDto | undefined): Promise<CreatedEmbedSessionDto> {
  const body: CreateEmbedSessionDto = {
    allowed_origins: [location.origin], // the page is opened by itself, but a session needs an origin
    platforms: channel ? [channel.platform] : [...PLATFORMS],
    ...(channel?.external_ref ? { external_ref: channel.external_ref } : {}),
  };
  return call("POST", "/api/embed/sessions", { body });
}

interface LinkDialogProps {
  session: CreatedEmbedSessionDto;
  onClose(): void;
}

const LinkDialog = ({ session: { url, expires_at }, onClose }: LinkDialogProps) => (
  <Dialog title={words.title} onClose={onClose}>
    <p>{words.text}</p>
    <p class="soft">
      {words.validUntil} <Time at={expires_at} />
    </p>
    <div class="actions end">
      <button type="button" class="quiet" onClick={onClose}>
        {texts.close}
      </button>
      <button type="button" onClick={() => copyText(url, words.link)}>
        {words.copy}
      </button>
      <a class="button primary" href={url} target="_blank" rel="noreferrer" onClick={onClose}>
        {words.open}
      </a>
    </div>
  </Dialog>
);
