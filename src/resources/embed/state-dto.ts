import type { EmbedStatus, Platform, TryPhase } from "../../schema/enumerations.ts";
import type { EmbedTryRow } from "../../store/embed/tries.ts";
import type { EmbedStateDto } from "./page-schema.ts";
import { errorOf, resultOf } from "./session-dto.ts";

/** The state that the page polls. Parts that do not apply are absent. */
export function toState(row: EmbedTryRow): EmbedStateDto {
  const [result, error] = [resultOf(row), errorOf(row)];
  return {
    session_id: row.id,
    status: row.status as EmbedStatus,
    external_ref: row.external_ref,
    platforms: row.platforms as Platform[],
    try: tryOf(row),
    ...(row.try_phase === "choosing" ? { choices: choicesOf(row) } : {}),
    ...(row.try_phase === "pin" ? { pin: { tries_left: row.pin_tries_left as number } } : {}),
    ...(result ? { result } : {}),
    ...(row.status === "failed" && error ? { error } : {}),
  };
}

const tryOf = ({ try_id, try_platform, try_phase }: EmbedTryRow): EmbedStateDto["try"] =>
  try_id === null ? null : { try_id, platform: try_platform as Platform, phase: try_phase as TryPhase };

/** The assets from which the person can choose; none while there is nothing to choose. */
export const choicesOf = ({ choices }: EmbedTryRow): NonNullable<EmbedStateDto["choices"]> =>
  choices === null ? [] : JSON.parse(choices);
