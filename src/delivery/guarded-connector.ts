import type { LookupFunction, Socket } from "node:net";
import { buildConnector } from "undici";
import { SECOND } from "../runtime/durations.ts";
import type { Destinations, Scheme } from "./destinations.ts";
import type { ResolvedAddress, Resolver } from "./resolver.ts";

/** The name, or the other end itself, is at an address that no event may go to. */
export class AddressNotAllowed extends Error {
  override name = "AddressNotAllowed";
  readonly code = "ADDRESS_NOT_ALLOWED";
}

interface ConnectorParts {
  destinations: Destinations;
  resolver: Resolver;
  /** Milliseconds, the resolving included. */
  timeout: number;
}

/** Connects where events may go, and nowhere else: what a name resolves to is checked, and whom the socket has reached. */
export function guardedConnector(parts: ConnectorParts): buildConnector.connector {
  const connectors = { "http:": connectorOf("http:", parts), "https:": connectorOf("https:", parts) };
  return (options, callback) => {
    const scheme = options.protocol as Scheme;
    connectors[scheme](options, (error, socket) => {
      const fault = error ?? checkPeer(socket, (peer) => parts.destinations.isAllowedPeer(peer, scheme));
      if (!fault) return callback(null, socket as Socket);
      socket?.destroy();
      return callback(fault, null);
    });
  };
}

function checkPeer({ remoteAddress }: Socket, isAllowed: (peer: string) => boolean): Error | undefined {
  if (remoteAddress === undefined) return Object.assign(new Error("gone"), { code: "ECONNRESET" });
  return isAllowed(remoteAddress) ? undefined : new AddressNotAllowed();
}

const connectorOf = (scheme: Scheme, { destinations, resolver, timeout }: ConnectorParts) =>
  buildConnector({
    timeout,
    lookup: guardedLookup(resolver, (address) => destinations.isAllowed(address, scheme)),
    // Node gives each of several addresses but a quarter of a second, less than the way around the world takes.
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: 2 * SECOND,
  });

/** One address that is not allowed spoils the name: whoever owns it decides which of them comes first. */
function guardedLookup(resolver: Resolver, isAllowed: (address: string) => boolean): LookupFunction {
  return (hostname, { all, family }, callback) => {
    const fail = (error: Error) => callback(error, []);
    const answer = (found: readonly ResolvedAddress[]) => {
      if (!found.every(({ address }) => isAllowed(address))) return fail(new AddressNotAllowed());
      const matching = found.filter((one) => (family !== 4 && family !== 6 ? true : one.family === family));
      const [first] = matching;
      if (!first) return fail(Object.assign(new Error("no address"), { code: "ENOTFOUND" }));
      return all ? callback(null, [...matching]) : callback(null, first.address, first.family);
    };
    resolver(hostname).then(answer, fail);
  };
}
