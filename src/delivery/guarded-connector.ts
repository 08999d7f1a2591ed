import type { LookupFunction, Socket } from "node:net";
import { buildConnector } from "undici";
import { SECOND } from "../runtime/durations.ts";
import { limitAnswers } from "./answer-limit.ts";
import type { Destinations, Scheme } from "./destinations.ts";
import type { ResolvedAddress, Resolver } from "./resolver.ts";

/** The resolved or connected address is not an allowed destination. */
export class AddressNotAllowed extends Error {
  override name = "AddressNotAllowed";
  readonly code = "ADDRESS_NOT_ALLOWED";
}

interface ConnectorParts {
  destinations: Destinations;
  resolver: Resolver;
  /** Milliseconds, including name resolution. */
  timeout: number;
}

/**
 * Connects only to allowed destinations: checks the resolved addresses, and the peer's address once connected. Limits
 * the bytes of each answer.
 */
export function guardedConnector(parts: ConnectorParts): buildConnector.connector {
  const connectors = { "http:": connectorOf("http:", parts), "https:": connectorOf("https:", parts) };
  return (options, callback) => {
    const scheme = options.protocol as Scheme;
    connectors[scheme](options, (error, socket) => {
      const fault = error ?? checkPeer(socket, (peer) => parts.destinations.isAllowedPeer(peer, scheme));
      if (fault) {
        socket?.destroy();
        return callback(fault, null);
      }
      limitAnswers(socket as Socket);
      return callback(null, socket as Socket);
    });
  };
}

function checkPeer({ remoteAddress }: Socket, isAllowed: (peer: string) => boolean): Error | undefined {
  if (remoteAddress === undefined)
    return Object.assign(new Error("the peer closed the connection"), { code: "ECONNRESET" });
  return isAllowed(remoteAddress) ? undefined : new AddressNotAllowed();
}

const connectorOf = (scheme: Scheme, { destinations, resolver, timeout }: ConnectorParts) =>
  buildConnector({
    timeout,
    lookup: guardedLookup(resolver, (address) => destinations.isAllowed(address, scheme)),
    // Node's default of 250 ms for each of several addresses is too short for distant servers.
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: 2 * SECOND,
  });

/** Refuses a name when any of its addresses is not allowed, because the owner of the name controls their order. */
function guardedLookup(resolver: Resolver, isAllowed: (address: string) => boolean): LookupFunction {
  return (hostname, { all, family }, callback) => {
    const fail = (error: Error) => callback(error, []);
    const answer = (found: readonly ResolvedAddress[]) => {
      if (!found.every(({ address }) => isAllowed(address))) return fail(new AddressNotAllowed());
      const matching = found.filter((one) => (family !== 4 && family !== 6 ? true : one.family === family));
      const [first] = matching;
      if (!first)
        return fail(
          Object.assign(new Error("the name has no address of this family"), { code: "ENOTFOUND" }),
        );
      return all ? callback(null, [...matching]) : callback(null, first.address, first.family);
    };
    resolver(hostname).then(answer, fail);
  };
}
