import { type CreatedKey, createKey, revokeKey, rotateKey } from "../../domain/tenants/api-keys.ts";
import { requestActor } from "../../domain/tenants/audit-actors.ts";
import { ApiError, invalidField, notFound } from "../../http/api-error.ts";
import { listById, listOf, listQuery, pageRequest } from "../../http/lists.ts";
import { MANAGERS_ONLY, type Route, route } from "../../http/route.ts";
import type { Scope } from "../../schema/enumerations.ts";
import { toTimestamp } from "../../schema/times.ts";
import { type ApiKeyRow, listApiKeys } from "../../store/tenants/api-keys.ts";
import { type ApiKeyDto, apiKey, createdApiKey, keyParams, newApiKey, rotation } from "./schema.ts";

const toApiKey = (row: ApiKeyRow): ApiKeyDto => ({
  id: row.id,
  name: row.name,
  prefix: row.prefix,
  last4: row.last4,
  scopes: row.scopes as Scope[],
  created_at: toTimestamp(row.created_at),
  created_by: row.created_by,
  expires_at: toTimestamp(row.expires_at),
  last_used_at: toTimestamp(row.last_used_at),
  revoked_at: toTimestamp(row.revoked_at),
  replaced_by: row.replaced_by,
});

const toCreatedApiKey = ({ row, text }: CreatedKey) => ({ ...toApiKey(row), key: text });

const invalidTransition = (message: string) => new ApiError("invalid_state_transition", message);

const noSuchKey = () => notFound("API key");

interface KeyParts {
  production: boolean;
  /** Makes this process notice a changed key at once. */
  forgetCredential(id: string): void;
}

export function keyRoutes({ production, forgetCredential }: KeyParts): Route[] {
  return [
    route({
      method: "post",
      path: "/api/keys",
      operationId: "createApiKey",
      ...MANAGERS_ONLY,
      summary: "Create an API key",
      body: newApiKey,
      status: 201,
      reply: createdApiKey,
      async handle(context) {
        const { name, scopes, expires_at } = context.body;
        const input = { name, scopes, expiresAt: parseFutureTime(expires_at), production };
        return toCreatedApiKey(await createKey(context.db, requestActor(context), input));
      },
    }),
    route({
      method: "get",
      path: "/api/keys",
      operationId: "listApiKeys",
      ...MANAGERS_ONLY,
      summary: "List API keys, including revoked and expired ones",
      query: listQuery({}),
      reply: listOf(apiKey),
      async handle({ db, caller, query, cursors }) {
        const page = pageRequest(query, cursors);
        const rows = await listApiKeys(db, caller.clientId, page);
        return listById(rows, toApiKey, { page, cursors });
      },
    }),
    route({
      method: "delete",
      path: "/api/keys/{id}",
      operationId: "revokeApiKey",
      ...MANAGERS_ONLY,
      summary: "Revoke an API key",
      description:
        "Takes effect at once in the process that answers, and within 5 seconds in every other. Revoking a key twice changes nothing.",
      repeatable: true,
      params: keyParams,
      async handle(context) {
        const { id } = context.params;
        if (!(await revokeKey(context.db, requestActor(context), id))) throw noSuchKey();
        forgetCredential(id);
      },
    }),
    route({
      method: "post",
      path: "/api/keys/{id}/rotate",
      operationId: "rotateApiKey",
      ...MANAGERS_ONLY,
      summary: "Replace an API key with a new one",
      description:
        "The new key has the name, scopes and expiry of the old one. The old key keeps working for `grace_minutes`.",
      errors: ["invalid_state_transition"],
      params: keyParams,
      body: rotation,
      status: 201,
      reply: createdApiKey,
      async handle(context) {
        const { params, body, db } = context;
        const input = { id: params.id, graceMinutes: body.grace_minutes ?? 0, production };
        const rotated = await rotateKey(db, requestActor(context), input);
        switch (rotated.outcome) {
          case "rotated":
            forgetCredential(params.id);
            return toCreatedApiKey(rotated.created);
          case "absent":
            throw noSuchKey();
          case "ended":
            throw invalidTransition("The key is revoked or expired: create a new one instead");
          case "replaced":
            throw invalidTransition(`The key was already replaced: rotate ${rotated.by} instead`);
        }
      },
    }),
  ];
}

/** Later times may have a five-digit year in another time zone, which timestamps cannot represent. */
const MAX_EXPIRY_MS = Date.UTC(9999, 11, 31);

function parseFutureTime(text: string | undefined): Date | null {
  if (text === undefined) return null;
  const time = new Date(text);
  // A leap second is a valid date-time but an invalid Date, so that both comparisons are false.
  if (time.getTime() > Date.now() && time.getTime() < MAX_EXPIRY_MS) return time;
  throw invalidField("/expires_at", "expires_at must be in the future and before 9999-12-31");
}
