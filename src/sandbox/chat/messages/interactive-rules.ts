import type { Part } from "./part.ts";

const ACTIONS_WITH_BODY: Readonly<Record<string, (action: Part) => void>> = {
  button: (action) => {
    for (const button of action.list("buttons", { maxItems: 3 })) {
      button.oneOf("type", ["reply"]);
      checkChoice(button.object("reply"), 20);
    }
  },
  list: (action) => {
    action.requiredText("button", 20);
    for (const section of action.list("sections", { maxItems: 10 }))
      for (const row of section.list("rows", { maxItems: 10 })) checkChoice(row, 24);
  },
  product_list: (action) => void action.requiredText("catalog_id"),
  catalog_message: (action) => void action.requiredText("name"),
  flow: (action) => void action.requiredText("name"),
  cta_url: (action) => {
    action.requiredText("name");
    action.object("parameters").requiredText("url");
  },
  location_request_message: (action) => void action.requiredText("name"),
  call_permission_request: (action) => void action.requiredText("name"),
  request_contact_info: (action) => void action.requiredText("name"),
  order_details: (action) => void action.requiredText("name"),
  order_status: (action) => void action.requiredText("name"),
  address_message: (action) => void action.requiredText("name"),
  voice_call: (action) => void action.requiredText("name"),
  carousel: (action) => void action.list("cards", { maxItems: 10 }),
};

const ACTIONS_WITHOUT_BODY: typeof ACTIONS_WITH_BODY = {
  product: (action) => {
    action.requiredText("catalog_id");
    action.requiredText("product_retailer_id");
  },
};

const ACTIONS = { ...ACTIONS_WITH_BODY, ...ACTIONS_WITHOUT_BODY };

/** An interactive message has an action of its type and, for most types, a body text. */
export function checkInteractive(interactive: Part): void {
  const type = interactive.oneOf("type", Object.keys(ACTIONS));
  if (ACTIONS_WITH_BODY[type]) interactive.object("body").requiredText("text", type === "list" ? 4096 : 1024);
  ACTIONS[type]?.(interactive.object("action"));
}

function checkChoice(choice: Part, maxTitleLength: number): void {
  choice.requiredText("id", 256);
  choice.requiredText("title", maxTitleLength);
}
