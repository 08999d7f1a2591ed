import type { MessageDetailDto, SendMessageResponseDto } from "../../../../sdk/src/generated/types.ts";
import { call } from "../../app/api.ts";
import { navigate } from "../../app/router.ts";
import { Question } from "../../components/dialog.tsx";
import { showToast } from "../../components/toast.tsx";
import { texts } from "../../texts.ts";
import { channelName } from "../channel-names.ts";
import { sendRequestOf } from "./send-request.ts";

const words = texts.messages;

interface DialogProps {
  message: MessageDetailDto;
  onClose(): void;
}

export const SendAgain = ({ message, idempotencyKey, onClose }: DialogProps & { idempotencyKey: string }) => (
  <Question
    title={words.sendAgain.title}
    action={words.sendAgain.action}
    act={async (isShown) => {
      const sent = await call<SendMessageResponseDto>("POST", "/api/outbound/send", {
        body: sendRequestOf(message),
        headers: { "idempotency-key": idempotencyKey },
      });
      showToast(words.sent);
      if (isShown()) navigate(`/console/messages/${sent.message_id}`);
    }}
    onClose={onClose}
  >
    <p>{words.sendAgain.consequence(message.to, channelName(message.channel_id))}</p>
  </Question>
);

interface CancelProps extends DialogProps {
  onDone(): Promise<unknown>;
}

export const CancelMessage = ({ message, onClose, onDone }: CancelProps) => (
  <Question
    title={words.cancel.title}
    action={words.cancel.action}
    refusal={words.cancel.refusal}
    act={async () => {
      await call("DELETE", `/api/outbound/messages/${message.message_id}`);
      onClose();
      await onDone();
    }}
    onClose={onClose}
  >
    <p>{words.cancel.consequence(message.to)}</p>
  </Question>
);
