import { APP_NAME, BUSINESS, type PhoneNumber } from "../built-in-assets.ts";
import { perSandbox, type SandboxContext } from "../context.ts";
import { checkFields, project, toListPage } from "../graph/fields-and-lists.ts";
import { invalidParameter } from "../graph/graph-error.ts";
import type { Call, Edge, NodeKind } from "../graph/node.ts";
import { mediaKind, uploadMedia } from "./media.ts";
import { sendMessage } from "./messages.ts";
import {
  deregister,
  isPhoneNumberId,
  isRegistered,
  isWaba,
  managementEdge,
  messagingEdge,
  reachesNumber,
  register,
  senderOf,
  wabaOf,
} from "./numbers.ts";
import { createTemplate, deleteTemplates, listTemplates, templateKind } from "./templates/template-edges.ts";

/** Nodes of the chat platform: business accounts, numbers, templates and media. */
export const chatKinds = (context: SandboxContext): NodeKind[] =>
  [wabaKind, phoneNumberKind, templateKind, mediaKind].map((kind) => kind(context));

/** A business account of the chat platform. */
const wabaKind = (context: SandboxContext): NodeKind => ({
  name: "waba",
  owns: isWaba,
  reaches: (grant, node) => grant.assets.includes(node),
  edges: {
    GET: managementEdge(showWaba),
    "GET phone_numbers": managementEdge((call) => listNumbers(context, call)),
    ...subscribedApps(context),
    "POST message_templates": managementEdge((call) => createTemplate(context, call)),
    "GET message_templates": managementEdge((call) => listTemplates(context, call)),
    "DELETE message_templates": managementEdge((call) => deleteTemplates(context, call)),
  },
});

const DEFAULT_WABA_FIELDS = ["id", "name", "timezone_id", "message_template_namespace"];

function showWaba({ node, params }: Call): unknown {
  const { id, name, message_template_namespace } = wabaOf(node);
  const wabaNode = {
    id,
    name,
    message_template_namespace,
    timezone_id: "25",
    currency: "BRL",
    account_review_status: "APPROVED",
    owner_business_info: BUSINESS,
  };
  checkFields(params.words("fields"), "WhatsAppBusinessAccount", Object.keys(wabaNode));
  return project(wabaNode, params.words("fields"), DEFAULT_WABA_FIELDS);
}

function listNumbers(context: SandboxContext, call: Call): unknown {
  const fields = call.params.words("fields");
  checkNumberFields(fields);
  return toListPage(call, wabaOf(call.node).numbers, (number) =>
    project(toNumberNode(context, number), fields, DEFAULT_NUMBER_FIELDS),
  );
}

const MAX_URI_LENGTH = 200;

/** Callback URLs per business account, stored and shown but not used: there is only one service. */
const overridesOf = perSandbox(() => new Map<string, string>());

/** Edges that manage the app's subscription to a business account. */
const subscribedApps = (context: SandboxContext): Record<string, Edge> => ({
  "POST subscribed_apps": managementEdge((call) => subscribe(context, call)),
  "GET subscribed_apps": managementEdge(({ node }) => ({
    data: context.webhooks.isSubscribed(node) ? [toSubscribedApp(context, node)] : [],
  })),
  "DELETE subscribed_apps": managementEdge(({ node }) => {
    context.webhooks.unsubscribe(node);
    overridesOf(context).delete(node);
    return { success: true };
  }),
});

function subscribe(context: SandboxContext, { node, params }: Call): unknown {
  const uri = params.text("override_callback_uri");
  if (uri === undefined) overridesOf(context).delete(node);
  else {
    if (uri.length > MAX_URI_LENGTH || !URL.canParse(uri))
      throw invalidParameter(
        `Param override_callback_uri must be a URL of at most ${MAX_URI_LENGTH} characters`,
      );
    params.requiredText("verify_token");
    if (!context.webhooks.isSubscribed(node))
      throw invalidParameter("Before override the current callback uri, your app must be subscribed");
    overridesOf(context).set(node, uri);
  }
  context.webhooks.subscribe(node);
  return { success: true };
}

function toSubscribedApp(context: SandboxContext, waba: string): unknown {
  const id = context.settings.PLATFORM_APP_ID;
  const uri = overridesOf(context).get(waba);
  return {
    whatsapp_business_api_data: { id, name: APP_NAME, link: `https://www.facebook.com/games/?app_id=${id}` },
    ...(uri === undefined ? {} : { override_callback_uri: uri }),
  };
}

/** A phone number that sends and receives. */
const phoneNumberKind = (context: SandboxContext): NodeKind => ({
  name: "phone number",
  owns: isPhoneNumberId,
  reaches: reachesNumber,
  asset: (node) => senderOf(node).waba.id,
  edges: {
    GET: managementEdge(({ node, params }) => {
      const fields = params.words("fields");
      checkNumberFields(fields);
      return project(toNumberNode(context, senderOf(node).number), fields, DEFAULT_NUMBER_FIELDS);
    }),
    "POST register": managementEdge((call) => register(context, call)),
    "POST deregister": managementEdge((call) => deregister(context, call)),
    "POST messages": messagingEdge((call) => sendMessage(context, call)),
    "POST media": messagingEdge((call) => uploadMedia(context, call)),
  },
});

const DEFAULT_NUMBER_FIELDS = [
  "verified_name",
  "code_verification_status",
  "display_phone_number",
  "quality_rating",
  "platform_type",
  "throughput",
  "id",
];

const NUMBER_FIELDS = [
  ...DEFAULT_NUMBER_FIELDS,
  "name_status",
  "whatsapp_business_manager_messaging_limit",
  "status",
];

const checkNumberFields = (fields: readonly string[] | undefined): void =>
  checkFields(fields, "WhatsAppBusinessPhoneNumber", NUMBER_FIELDS);

function toNumberNode(context: SandboxContext, number: PhoneNumber): Record<string, unknown> {
  const { id, display_phone_number, verified_name, code_verification_status } = number;
  const registered = isRegistered(context, id);
  return {
    id,
    display_phone_number,
    verified_name,
    code_verification_status,
    quality_rating: registered ? "GREEN" : "UNKNOWN",
    name_status: "APPROVED",
    throughput: { level: registered ? "STANDARD" : "NOT_APPLICABLE" },
    whatsapp_business_manager_messaging_limit: "TIER_2K",
    platform_type: registered ? "CLOUD_API" : "NOT_APPLICABLE",
    status: registered ? "CONNECTED" : "PENDING",
  };
}
