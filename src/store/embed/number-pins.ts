import { type Queryable, sql } from "../database/database.ts";

/** A phone number has one PIN over all clients: the next client that connects the number needs it too. */

export interface NumberPin {
  phoneNumberId: string;
  pinSealed: string;
}

const RESERVE = sql(`
  insert into number_pins (client_id, id, pin_sealed)
  values ($1, $2, $3)
  on conflict (id) do update
  set id = excluded.id
  returning pin_sealed`);

/** Returns the number's stored PIN, whichever client stored it; stores and returns this one when there is none. */
export async function reservePin(
  db: Queryable,
  clientId: string,
  { phoneNumberId, pinSealed }: NumberPin,
): Promise<string> {
  const [row] = await db.query<{ pin_sealed: string }>(RESERVE, [clientId, phoneNumberId, pinSealed]);
  return (row as { pin_sealed: string }).pin_sealed;
}

const SAVE = sql(`
  insert into number_pins (client_id, id, pin_sealed)
  values ($1, $2, $3)
  on conflict (id) do update
  set client_id = excluded.client_id, pin_sealed = excluded.pin_sealed`);

/** Replaces the number's PIN and assigns it to the client. */
export async function savePin(
  db: Queryable,
  clientId: string,
  { phoneNumberId, pinSealed }: NumberPin,
): Promise<void> {
  await db.query(SAVE, [clientId, phoneNumberId, pinSealed]);
}

const DELETE = sql(`
  delete from number_pins
  where id = $1
  and pin_sealed = $2`);

/** Spans all clients: deletes a PIN that the platform refuses, unless it was replaced meanwhile. */
export async function deletePin(db: Queryable, { phoneNumberId, pinSealed }: NumberPin): Promise<void> {
  await db.query(DELETE, [phoneNumberId, pinSealed]);
}
