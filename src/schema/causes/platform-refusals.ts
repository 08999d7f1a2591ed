import { defineCauses } from "./cause-definition.ts";

/**
 * Every meaning of a platform's error code for a message, once. A code is a number, a number with a subcode, or a range; the
 * code with the subcode goes before the code alone.
 */

const RECIPIENT = defineCauses(
  { verdict: "failed", section: "recipient" },
  {
    recipient_unreachable: {
      codes: [131026],
      summary:
        "The platform cannot deliver to this recipient: the number has no account there, its app is too old, or the person has not accepted the platform's terms.",
      whoActs: "recipient",
      nextStep:
        "Check the number. If it is right, ask the person in another way to install or update the app, and send again then.",
    },
    recipient_unavailable: {
      codes: [551],
      summary: "The person cannot be reached on this platform at the moment.",
      whoActs: "recipient",
      nextStep: "Send again later, or contact the person in another way.",
    },
    recipient_refuses_messages: {
      codes: ["10/2018108", "200/2018108"],
      summary: "The person does not accept messages from this page or account.",
      whoActs: "recipient",
      nextStep: "Do not send again until the person writes to you.",
    },
    recipient_unknown: {
      codes: ["100/2018001"],
      summary: "The platform knows no person with this id.",
      whoActs: "you",
      nextStep:
        "Use the id from a message that the person sent to this page or account: an id is valid for one of them only.",
    },
    recipient_is_sender: {
      codes: [131021],
      summary: "The recipient is the number that sends.",
      whoActs: "you",
      nextStep: "Send to another number.",
    },
    recipient_not_in_test_list: {
      codes: [131030],
      summary: "The sender is a test number, and the recipient is not on its list of allowed numbers.",
      whoActs: "you",
      nextStep: "Add the recipient to the list at the platform, or send from a number that is not for tests.",
    },
    recipient_in_experiment: {
      codes: [130472],
      summary: "The platform withholds marketing messages from this person as part of an experiment.",
      whoActs: "platform",
      nextStep:
        "Do not send the same message again. The person receives other kinds of message, and every message after writing to you.",
    },
    recipient_stopped_marketing: {
      codes: [131050],
      summary: "The person has stopped marketing messages from you.",
      whoActs: "recipient",
      nextStep: "Send this person no marketing messages any more, unless the person allows them again.",
    },
    recipient_id_unsupported: {
      codes: [131062],
      summary: "The platform does not support a business-scoped id as the recipient of this message.",
      whoActs: "you",
      nextStep: "Send to the person's phone number instead.",
    },
    window_closed: {
      codes: [131047, "10/2018278", "10/2534022"],
      summary:
        "The time in which you may answer freely is over: 24 hours have passed since the person last wrote to you.",
      whoActs: "you",
      nextStep:
        "Send an approved template on chatapp; on photoapp and socialapp wait until the person writes again, or use the tag HUMAN_AGENT if the platform has allowed it to you.",
    },
    withheld_by_platform: {
      codes: [131049],
      summary:
        "The platform did not deliver the message, because this person gets too many marketing messages.",
      whoActs: "platform",
      nextStep: "Wait at least 24 hours before you send it again; an earlier try has the same result.",
    },
    identity_mismatch: {
      codes: [137000],
      summary: "The person's identity at the platform is not the one that the message was meant for.",
      whoActs: "you",
      nextStep: "Verify the person, confirm the new identity at the platform, and send again.",
    },
  },
);

const CONTENT = defineCauses(
  { verdict: "failed", section: "content" },
  {
    parameter_invalid: {
      codes: [100, 131009],
      summary: "The platform rejects a value in the message.",
      whoActs: "you",
      nextStep: "Correct the value that `platform_error` names, and send the message again.",
    },
    parameter_missing: {
      codes: [131008],
      summary: "The message lacks a value that the platform requires.",
      whoActs: "you",
      nextStep: "Add the value that `platform_error` names, and send the message again.",
    },
    message_type_unsupported: {
      codes: [131051],
      summary: "The platform does not support this type of message.",
      whoActs: "you",
      nextStep: "Send the content as another type.",
    },
    media_download_failed: {
      codes: [131052],
      summary: "The platform could not fetch a file.",
      whoActs: "you",
      nextStep: "Make sure that the link is public and answers quickly, or upload the file first.",
    },
    media_upload_failed: {
      codes: [131053],
      summary: "The platform could not take the file of the message.",
      whoActs: "you",
      nextStep: "Check that its link is public, and the format and size of the file, and send it again.",
    },
    attachment_type_mismatch: {
      codes: ["100/2018047"],
      summary: "The file is not of the type that the message says.",
      whoActs: "you",
      nextStep: "Send the file with its real type: image, video, audio or document.",
    },
    request_rejected: {
      codes: [135000],
      summary: "The platform rejects the message without a more precise reason.",
      whoActs: "you",
      nextStep: "Compare the message with the platform's documentation of its type, and correct it.",
    },
  },
);

const TEMPLATES = defineCauses(
  { verdict: "failed", section: "templates" },
  {
    template_missing: {
      codes: [132001],
      summary: "The template does not exist in this language, or it is not approved.",
      whoActs: "you",
      nextStep: "Check name and language with POST /api/templates/list, and wait for the approval.",
    },
    template_paused: {
      codes: [132015],
      summary: "The platform has paused the template, because people reported it or did not read it.",
      whoActs: "you",
      nextStep: "Use another template, or improve this one; the platform ends a pause by itself.",
    },
    template_disabled: {
      codes: [132016],
      summary: "The platform has disabled the template for good, after several pauses.",
      whoActs: "you",
      nextStep: "Submit a new template with other content.",
    },
    template_parameter_count: {
      codes: [132000],
      summary: "The message has more or fewer values than the template has variables.",
      whoActs: "you",
      nextStep: "Send one value for each variable of the template.",
    },
    template_text_too_long: {
      codes: [132005],
      summary: "The text of the template is too long with the values of the message.",
      whoActs: "you",
      nextStep: "Send shorter values.",
    },
    template_policy_violated: {
      codes: [132007],
      summary: "The content of the template violates a rule of the platform.",
      whoActs: "you",
      nextStep: "Change the content, and submit the template again.",
    },
    template_parameter_value: {
      codes: [132008],
      summary: "A value of the message is not allowed for the template's variable.",
      whoActs: "you",
      nextStep: "Correct the value that `platform_error` names.",
    },
    template_parameter_format: {
      codes: [132012],
      summary: "A value of the message has another format than the template's variable.",
      whoActs: "you",
      nextStep: "Send the value in the format with which the template was submitted.",
    },
    template_classification_limited: {
      codes: [131064],
      summary: "The platform limits this channel, because its templates have the wrong category.",
      whoActs: "you",
      nextStep:
        "Do not send again automatically. Correct the categories of the templates, and look at the limit at the platform.",
    },
    marketing_disabled: {
      codes: [131063],
      summary: "Marketing templates cannot be sent in this way from this number.",
      whoActs: "you",
      nextStep: "Send a template of another category, or enable marketing messages at the platform.",
    },
    flow_blocked: {
      codes: [132068],
      summary: "The platform has blocked the flow in the message.",
      whoActs: "you",
      nextStep: "Correct the flow at the platform.",
    },
    flow_throttled: {
      codes: [132069],
      summary: "The platform limits the flow in the message, because its endpoint answers badly.",
      whoActs: "you",
      nextStep:
        "Correct the endpoint of the flow, and send fewer of these messages until the limit is lifted.",
    },
  },
);

const CHANNEL = defineCauses(
  { verdict: "failed", section: "channel" },
  {
    access_token_invalid: {
      codes: [0, 102, 190],
      summary: "The platform no longer accepts the channel's access token.",
      whoActs: "you",
      nextStep: "Connect the channel again, and send the message again.",
    },
    permission_missing: {
      codes: [3, 10, [200, 299], 131005],
      summary: "The channel's account lacks a permission that the message needs.",
      whoActs: "you",
      nextStep:
        "A person who has the permission connects the channel again and grants everything that is asked.",
    },
    policy_blocked: {
      codes: [368],
      summary: "The platform blocks the account for a while, because of its policies.",
      whoActs: "you",
      nextStep: "Look at the account at the platform, and do not send until the block has ended.",
    },
    country_restricted: {
      codes: [130497],
      summary: "The account may not send messages to people in this country.",
      whoActs: "you",
      nextStep: "Do not send to this country from this account.",
    },
    account_locked: {
      codes: [131031],
      summary:
        "The platform has locked the account, because of a policy or because it could not be verified.",
      whoActs: "you",
      nextStep: "Look at the account at the platform, and ask for a review.",
    },
    spam_limited: {
      codes: [131048],
      summary: "The platform limits this number, because too many people blocked or reported its messages.",
      whoActs: "you",
      nextStep:
        "Do not send again automatically. Look at the quality of the number at the platform, and send fewer and better messages.",
    },
    display_name_not_approved: {
      codes: [131037],
      summary: "The number's display name is not approved.",
      whoActs: "you",
      nextStep: "Correct the display name at the platform, and wait for its approval.",
    },
    payment_problem: {
      codes: [131042],
      summary: "The platform has a problem with the payment for the account's messages.",
      whoActs: "you",
      nextStep: "Check the payment method and the credit of the account at the platform.",
    },
    payment_terms_not_accepted: {
      codes: [134011],
      summary: "The account has not accepted the platform's terms for payments.",
      whoActs: "you",
      nextStep: "Accept the terms for payments at the platform.",
    },
    certificate_invalid: {
      codes: [131045],
      summary: "The number's registration at the platform has an invalid certificate.",
      whoActs: "you",
      nextStep: "Connect the number again, which registers it anew.",
    },
    sender_not_found: {
      codes: [33, "100/33"],
      summary: "The number or page no longer exists at the platform, or the channel has no access to it.",
      whoActs: "you",
      nextStep: "Connect the channel again, or another number or page.",
    },
    number_not_registered: {
      codes: [133010],
      summary: "The number is not registered for sending at the platform.",
      whoActs: "you",
      nextStep: "Connect the number again, which registers it.",
    },
    registration_failed: {
      codes: [133000, 133005, 133006, 133008, 133009, 133015],
      summary: "The number's registration at the platform is not complete.",
      whoActs: "you",
      nextStep: "Check the number's verification and PIN at the platform, and connect it again.",
    },
    registration_limited: {
      codes: [133016],
      summary: "The number was registered too often at the platform.",
      whoActs: "you",
      nextStep: "Wait 72 hours before the number is connected again.",
    },
  },
);

const PLATFORM = defineCauses(
  { verdict: "failed", section: "platform" },
  {
    app_rate_limited: {
      codes: [4, 341],
      summary: "The platform limits the calls of the whole service.",
      whoActs: "operator",
      nextStep: "Send the message again later, and tell the operator of the service if it happens again.",
    },
    account_rate_limited: {
      codes: [17, 32, 613, [80000, 80014]],
      summary: "The platform limits the calls for this account, business or page.",
      whoActs: "you",
      nextStep: "Send the message again later, and make fewer calls for this account.",
    },
    number_rate_limited: {
      codes: [130429],
      summary: "The number has reached the platform's limit for messages per second.",
      whoActs: "you",
      nextStep: "Send the message again, and spread your messages over a longer time.",
    },
    pair_rate_limited: {
      codes: [131056],
      summary: "This person got too many messages from this number in a short time.",
      whoActs: "you",
      nextStep: "Wait, and send this person fewer messages.",
    },
    platform_unavailable: {
      codes: [2, 1200, 131016, 133004],
      summary: "The platform was temporarily not able to take the message.",
      whoActs: "platform",
      nextStep: "Send the message again if it is still wanted.",
    },
    platform_maintenance: {
      codes: [131057],
      summary: "The account is in maintenance at the platform, for example because its throughput is raised.",
      whoActs: "platform",
      nextStep: "Send the message again later.",
    },
    platform_fault: {
      codes: [1, 131000],
      summary: "The platform failed for a reason that it does not tell.",
      whoActs: "platform",
      nextStep:
        "Send the message again if it is still wanted. If it happens again, ask the platform's support with the details in the timeline.",
    },
  },
);

/** Causes of failed messages, by the code of the platform. */
export const PLATFORM_REFUSALS = { ...RECIPIENT, ...CONTENT, ...TEMPLATES, ...CHANNEL, ...PLATFORM } as const;
