import type { Readable } from "node:stream";
import { MINUTE } from "../../runtime/durations.ts";
import { type FileForm, multipartBody, textOf } from "../bodies.ts";
import { refusalByStatus, toFailure } from "../client/call.ts";
import type { PlatformClient } from "../client/client.ts";
import { unusableAnswer } from "../errors/failure.ts";
import { businessSender, type ChatNumber } from "./numbers.ts";

export type MediaUpload = Pick<FileForm, "filename" | "type" | "content" | "size">;

export interface MediaDownload {
  type: string;
  /** In bytes; absent when the response has no content-length. */
  size?: number;
  body: Readable;
}

/** Equals the time limit of a large body, because the file is streamed from the API's caller. */
const UPLOAD_TIMEOUT_MS = 10 * MINUTE;

/** The platform is called when so much of the file has come, or all: a slow caller holds no socket before. */
const READ_AHEAD_BYTES = 256 * 1024;

export interface ChatMedia {
  /** Streams the file to the platform and returns its media id. An error of the file's source is thrown unchanged. */
  upload(number: ChatNumber, file: MediaUpload): Promise<string>;
  download(number: ChatNumber, mediaId: string): Promise<MediaDownload>;
}

/** `hosts`: the only hosts (with ports) files are fetched from, because the platform supplies the URL. */
export function createChatMedia(client: PlatformClient, hosts: readonly string[]): ChatMedia {
  const protocols = client.isSecure ? ["https:"] : ["https:", "http:"]; // the request carries the token
  return {
    async upload(number, { type, content, ...file }) {
      const source = await readAhead(content);
      const fields = { messaging_product: "whatsapp", type };
      const body = multipartBody({ ...file, content: source.content, type, field: "file", fields });
      const path = `/${number.phoneNumberId}/media`;
      const { id } = await businessSender(client, number)
        .change(path, body, { uploadTimeoutMs: UPLOAD_TIMEOUT_MS })
        .catch(source.rethrow);
      const mediaId = textOf(id);
      if (mediaId === undefined) throw unusableAnswer("The platform accepted the file but returned no id");
      return mediaId;
    },
    async download(number, mediaId) {
      const query = { phone_number_id: number.phoneNumberId };
      const { url, mime_type } = await businessSender(client, number).get(`/${mediaId}`, query);
      const address = toAllowedUrl(textOf(url), { hosts, protocols });
      const opened = await client.open({
        url: address,
        token: number.token,
        ...(number.about ? { about: number.about } : {}),
      });
      if (opened.outcome !== "answered") throw toFailure(opened, { effect: "read" });
      const { status, headers, body } = opened;
      if (status !== 200) {
        body.destroy();
        throw toFailure(refusalByStatus(status), { effect: "read", owner: "channel" });
      }
      const size = Number(headers["content-length"] ?? Number.NaN);
      const type = textOf(mime_type) ?? headers["content-type"] ?? "application/octet-stream";
      return { type, ...(Number.isNaN(size) ? {} : { size }), body };
    },
  };
}

interface StartedSource {
  content: FileForm["content"];
  /** Throws the source's error if there was one: the error of the call follows from it. */
  rethrow(callError: unknown): never;
}

async function readAhead(content: FileForm["content"]): Promise<StartedSource> {
  let failure: { error: unknown } | undefined;
  const rethrow = (callError: unknown): never => {
    throw failure ? failure.error : callError;
  };
  if (content instanceof Uint8Array) return { content, rethrow };
  const iterator = content[Symbol.asyncIterator]();
  const first: Uint8Array[] = [];
  for (let bytes = 0; bytes < READ_AHEAD_BYTES; ) {
    const next = await iterator.next();
    if (next.done) break;
    first.push(next.value);
    bytes += next.value.byteLength;
  }
  async function* readAll() {
    try {
      yield* first.splice(0);
      yield* { [Symbol.asyncIterator]: () => iterator };
    } catch (error) {
      failure = { error };
      throw error;
    } finally {
      await iterator.return?.();
    }
  }
  return { content: readAll(), rethrow };
}

interface AllowedOrigins {
  hosts: readonly string[];
  protocols: readonly string[];
}

function toAllowedUrl(url: string | undefined, { hosts, protocols }: AllowedOrigins): URL {
  const address = url !== undefined && URL.canParse(url) ? new URL(url) : undefined;
  if (address && protocols.includes(address.protocol) && hosts.includes(address.host)) return address;
  throw unusableAnswer("The platform returned no file URL that PLATFORM_MEDIA_HOSTS allows");
}
