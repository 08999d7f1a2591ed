import type { Edge } from "../node-kind.ts";

/** An edge that manages the business account. */
export const managementEdge = (answer: Edge["answer"]): Edge => ({
  scopes: ["whatsapp_business_management"],
  usage: "whatsapp",
  answer,
});

/** An edge that sends or receives. */
export const messagingEdge = (answer: Edge["answer"]): Edge => ({
  scopes: ["whatsapp_business_messaging"],
  usage: "whatsapp",
  answer,
});
