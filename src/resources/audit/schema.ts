import { Type } from "../../schema/types.ts";

export const auditFilters = {
  action: Type.Optional(
    Type.String({ maxLength: 100, description: "Only entries with this action", examples: ["key.created"] }),
  ),
  actor_id: Type.Optional(
    Type.String({
      maxLength: 200,
      description: "Only entries of this user or API key",
      examples: ["usr_01k9zv3m5q8x7w2r4t6y0a1b2c"],
    }),
  ),
};
