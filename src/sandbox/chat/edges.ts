import type { Edge } from "../node-kind.ts";

/** An edge of those who manage the account. */
export const managementEdge = (answer: Edge["answer"]): Edge => ({
  scopes: ["whatsapp_business_management"],
  usage: "whatsapp",
  answer,
});

/** An edge of those who send and receive. */
export const messagingEdge = (answer: Edge["answer"]): Edge => ({
  scopes: ["whatsapp_business_messaging"],
  usage: "whatsapp",
  answer,
});
