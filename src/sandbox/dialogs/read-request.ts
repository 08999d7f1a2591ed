import type { SandboxSettings } from "../settings.ts";
import type { Params } from "../wire/params.ts";
import { DialogError } from "./consent.ts";
import { isPermission } from "./permissions.ts";

/** Checks the parameters that all dialogs share. */
export function checkApp(params: Params, { PLATFORM_APP_ID }: SandboxSettings): void {
  if (params.text("client_id") !== PLATFORM_APP_ID)
    throw new DialogError("Invalid App ID: the client_id is not that of a known app.");
  if (params.text("response_type") !== "code") throw new DialogError("The response_type must be code.");
}

/** Returns the requested permissions without duplicates. */
export function readPermissions(params: Params): string[] {
  const requested = [...new Set((params.text("scope") ?? "").split(",").map((word) => word.trim()))];
  const permissions = requested.filter((word) => word !== "");
  const unknownScopes = permissions.filter((name) => !isPermission(name));
  if (unknownScopes.length > 0) throw new DialogError(`Invalid Scopes: ${unknownScopes.join(", ")}`);
  return permissions;
}

/** Returns the named parameters that are present, unchanged. */
export const pickParams = (params: Params, names: readonly string[]): Map<string, string> =>
  new Map(
    names.flatMap((name) => {
      const value = params.text(name);
      return value === undefined ? [] : [[name, value] as const];
    }),
  );
