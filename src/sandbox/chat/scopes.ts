import type { Edge } from "../node-kind.ts";

/** An edge of those who manage the account. */
export const managing = (answer: Edge["answer"]): Edge => ({
  scopes: ["whatsapp_business_management"],
  usage: "whatsapp",
  answer,
});

/** An edge of those who send and receive. */
export const messaging = (answer: Edge["answer"]): Edge => ({
  scopes: ["whatsapp_business_messaging"],
  usage: "whatsapp",
  answer,
});
