import { createHash, randomBytes } from "node:crypto";

type Direction = "in" | "out";

const checksumOf = (text: string) => createHash("sha256").update(text).digest("hex").slice(0, 8);

/** Creates a message id that encodes direction and number, so that it can be verified after a restart. */
export function newWamid(direction: Direction, number: string): string {
  const text = `${direction}:${number}:${randomBytes(9).toString("hex")}`;
  return `wamid.HBg${Buffer.from(`${text}:${checksumOf(text)}`).toString("base64url")}`;
}

/** True for the id of a message that this number received or sent, limited to `directions`. */
export function isWamid(
  id: string,
  number: string,
  directions: readonly Direction[] = ["in", "out"],
): boolean {
  const text = Buffer.from(id.replace(/^wamid\.HBg/, ""), "base64url").toString();
  const end = text.lastIndexOf(":");
  const [direction, owner] = text.split(":");
  return (
    checksumOf(text.slice(0, end)) === text.slice(end + 1) &&
    owner === number &&
    directions.some((candidate) => candidate === direction)
  );
}
