import type { EventType } from "../enumerations.ts";
import { object, openObject, optional, Type, text, timestamp } from "../types.ts";
import { channelEnvelope, EXAMPLE_CHANNEL, EXAMPLE_TIME, eventPayload } from "./envelope.ts";

const [POST_ID, COMMENT_ID] = ["1400000000000401_700", "700_900"];
const AUTHOR = { id: "24000000000000001", name: "Ana" };

const publicationData = object(
  {
    id: text(COMMENT_ID, "The comment or post"),
    ...optional({
      parent_id: text("700_899", "The comment that this one answers"),
      post_id: text(POST_ID),
      from: openObject(optional({ id: text(AUTHOR.id), name: text(AUTHOR.name), username: text("ana") }), {
        title: "Author",
      }),
      text: text("Lovely!"),
      verb: text("add", "The platform's word: add, edited, hide, unhide or remove"),
      at: timestamp({ description: "When it happened, by the platform's clock" }),
    }),
  },
  { title: "PublicationData" },
);

const publication = (type: EventType, { data, raw }: { data: object; raw: object }) =>
  eventPayload(type, {
    ...channelEnvelope(["publishing"]),
    data: publicationData,
    example: { channel_id: EXAMPLE_CHANNEL, data: { ...data, at: EXAMPLE_TIME }, raw },
  });

const comment = (verb: string, content: { text?: string }) => {
  const place = { post_id: POST_ID, from: AUTHOR, verb };
  return {
    data: { id: COMMENT_ID, ...place, ...content },
    raw: {
      item: "comment",
      comment_id: COMMENT_ID,
      ...place,
      ...(content.text ? { message: content.text } : {}),
      created_time: 1793525400,
    },
  };
};

const leadData = object(
  {
    lead_id: text("1400000000000801"),
    ...optional({
      form_id: text("1400000000000802"),
      ad_id: text("120210000000000301"),
      page_id: text("1400000000000401"),
      created_at: timestamp(),
      fields: Type.Array(
        object(
          { name: text("email"), values: Type.Array(text("ana@customer.example")) },
          { title: "LeadField" },
        ),
        { description: "The person's answers; absent when Herald could not fetch them" },
      ),
    }),
  },
  { title: "LeadData" },
);

const LEAD_IDS = { form_id: "1400000000000802", ad_id: "120210000000000301", page_id: "1400000000000401" };

export const PUBLICATION_PAYLOADS = {
  "lead.created": eventPayload("lead.created", {
    ...channelEnvelope(["marketing"]),
    data: leadData,
    example: {
      channel_id: EXAMPLE_CHANNEL,
      data: {
        lead_id: "1400000000000801",
        ...LEAD_IDS,
        created_at: EXAMPLE_TIME,
        fields: [{ name: "email", values: ["ana@customer.example"] }],
      },
      raw: { leadgen_id: "1400000000000801", ...LEAD_IDS, created_time: 1793525400 },
    },
  }),
  "comment.created": publication("comment.created", comment("add", { text: "Lovely!" })),
  "comment.updated": publication("comment.updated", comment("edited", { text: "Really lovely!" })),
  "comment.deleted": publication("comment.deleted", comment("remove", {})),
  "mention.created": publication("mention.created", {
    data: { id: "17900000000000001", post_id: "17900000000000002", verb: "add" },
    raw: { comment_id: "17900000000000001", media_id: "17900000000000002" },
  }),
  "post.updated": publication("post.updated", {
    data: { id: POST_ID, post_id: POST_ID, from: AUTHOR, text: "New opening hours", verb: "add" },
    raw: { item: "status", post_id: POST_ID, from: AUTHOR, message: "New opening hours", verb: "add" },
  }),
};
