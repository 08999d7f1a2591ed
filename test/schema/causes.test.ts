import t from "tap";
import { CAUSE_SECTIONS, type CauseDefinition } from "../../src/schema/causes/cause-definition.ts";
import { CAUSES, causeOfCode, errorCodeOf } from "../../src/schema/causes/causes.ts";

/** The codes that the chat platform, pages and photo accounts answer to a send, by their meaning in the platform's documents. */
const CODES_BY_MEANING: Readonly<Record<string, readonly string[]>> = {
  access_token_invalid: ["0", "190", "190/460"],
  permission_missing: ["3", "10", "200", "230", "299", "131005"],
  policy_blocked: ["368"],
  country_restricted: ["130497"],
  account_locked: ["131031"],
  platform_fault: ["1", "131000"],
  platform_unavailable: ["2", "1200", "131016", "133004"],
  platform_maintenance: ["131057"],
  app_rate_limited: ["4"],
  account_rate_limited: ["32", "613", "80002", "80006", "80007", "80008"],
  number_rate_limited: ["130429"],
  pair_rate_limited: ["131056"],
  spam_limited: ["131048"],
  template_classification_limited: ["131064"],
  registration_limited: ["133016"],
  sender_not_found: ["33", "100/33"],
  parameter_invalid: ["100", "131009", "100/1487534"],
  parameter_missing: ["131008"],
  recipient_in_experiment: ["130472"],
  recipient_is_sender: ["131021"],
  recipient_unreachable: ["131026"],
  recipient_not_in_test_list: ["131030"],
  display_name_not_approved: ["131037"],
  payment_problem: ["131042"],
  certificate_invalid: ["131045"],
  window_closed: ["131047", "10/2018278", "10/2534022"],
  withheld_by_platform: ["131049"],
  recipient_stopped_marketing: ["131050"],
  message_type_unsupported: ["131051"],
  media_download_failed: ["131052"],
  media_upload_failed: ["131053"],
  recipient_id_unsupported: ["131062"],
  marketing_disabled: ["131063"],
  template_parameter_count: ["132000"],
  template_missing: ["132001"],
  template_text_too_long: ["132005"],
  template_policy_violated: ["132007"],
  template_parameter_value: ["132008"],
  template_parameter_format: ["132012"],
  template_paused: ["132015"],
  template_disabled: ["132016"],
  flow_blocked: ["132068"],
  flow_throttled: ["132069"],
  registration_failed: ["133000", "133005", "133006", "133008", "133009", "133015"],
  number_not_registered: ["133010"],
  payment_terms_not_accepted: ["134011"],
  request_rejected: ["135000"],
  identity_mismatch: ["137000"],
  recipient_unavailable: ["551", "551/1545041"],
  recipient_refuses_messages: ["10/2018108", "200/2018108"],
  recipient_unknown: ["100/2018001"],
  attachment_type_mismatch: ["100/2018047"],
};

const DEFINITIONS = Object.entries<CauseDefinition>(CAUSES);

t.test("every code of the platforms has the cause of its meaning", async (t) => {
  for (const [cause, codes] of Object.entries(CODES_BY_MEANING))
    for (const code of codes) t.equal(causeOfCode(code), cause, code);
});

t.test("every cause with a code of a platform is one of these meanings", async (t) => {
  const isPlatformCode = (code: unknown) => !/^[a-z]/.test(String(code));
  const causes = DEFINITIONS.filter(([, { codes = [] }]) => codes.some(isPlatformCode));
  t.same(causes.map(([cause]) => cause).sort(), Object.keys(CODES_BY_MEANING).sort());
});

t.test("a code has one cause", async (t) => {
  const codes = DEFINITIONS.flatMap(([, { codes = [] }]) => codes.map(String));
  t.same(codes, [...new Set(codes)]);
});

t.test("a code that is not listed, or none, is a platform error", async (t) => {
  for (const code of ["139000", "500", "300", "unknown", "", "toString", "/", "1e1", "-5", null])
    t.equal(causeOfCode(code), "platform_error", String(code));
});

t.test(
  "the stored code has the subcode, and any text that the index cannot store becomes unknown",
  async (t) => {
    t.equal(errorCodeOf({ code: 131026 }), "131026");
    t.equal(errorCodeOf({ code: 10, subcode: 2018278 }), "10/2018278");
    t.equal(errorCodeOf({ code: "expired" }), "expired");
    for (const code of ["", "a b", "\u0000", "é", "x".repeat(65)]) t.equal(errorCodeOf({ code }), "unknown");
  },
);

t.test("each cause says in one sentence what is the case, and what to do", async (t) => {
  for (const [cause, { summary, nextStep, section, verdict, whoActs }] of DEFINITIONS) {
    t.match(summary, /^[A-Z][^.]*\.$/, `${cause}: ${summary}`);
    t.match(nextStep, /^[A-Z].*\.$/, `${cause}: ${nextStep}`);
    t.ok(section in CAUSE_SECTIONS, cause);
    t.not(verdict === "failed" && whoActs === "nobody", true, `${cause}: somebody must act on a failure`);
  }
});
