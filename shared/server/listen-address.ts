import { isIP, type Server } from "node:net";
import { ResolverError } from "../formats/errors.ts";

/** A listen address. The host is an IP address (IPv6 without brackets) or a name. Port 0 selects a free port. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

const BRACKETED = /^\[([^\]]+)\]:(\d{1,5})$/;
const PLAIN = /^([a-z0-9](?:[a-z0-9.-]*[a-z0-9])?):(\d{1,5})$/i;
const MAX_PORT = 65_535;

/** Parses `HOST:PORT` or `[IPV6]:PORT`. For any other text, throws ERR_CONFIG_ADDRESS, whose message names `flag`. */
export function parseListenAddress(text: string, flag: string): ListenAddress {
  const bracketed = BRACKETED.exec(text);
  const [, host = "", port = ""] = bracketed ?? PLAIN.exec(text) ?? [];
  if (host === "" || Number(port) > MAX_PORT || (bracketed !== null && isIP(host) !== 6)) {
    throw new ResolverError(
      "ERR_CONFIG_ADDRESS",
      `${flag}: ${JSON.stringify(text)} is not a listen address; ` +
        `expected HOST:PORT with a port from 0 to ${MAX_PORT}, such as 127.0.0.1:9443 or [::]:9443`,
    );
  }
  return { host, port: Number(port) };
}

/** Formats the address as `HOST:PORT` or `[IPV6]:PORT`. */
export function formatListenAddress(address: ListenAddress): string {
  const host = isIP(address.host) === 6 ? `[${address.host}]` : address.host;
  return `${host}:${address.port}`;
}

/** Returns the actual address and port of a listening TCP server. */
export function boundAddress(server: Server): ListenAddress {
  const bound = server.address();
  if (bound === null || typeof bound === "string") throw new TypeError("the server does not listen on TCP");
  return { host: bound.address, port: bound.port };
}

/** Returns whether the host is an address in 127.0.0.0/8, the address ::1 or the name `localhost`. */
export function isLoopbackHost(host: string): boolean {
  const name = host.toLowerCase();
  return name === "localhost" || name === "::1" || (isIP(name) === 4 && name.startsWith("127."));
}

const REASONS: Readonly<Record<string, string>> = {
  EADDRNOTAVAIL: "the address is not assigned to this machine",
  EACCES: "permission denied (ports below 1024 need a privilege)",
  ENOTFOUND: "the name does not resolve",
};

/**
 * Calls `start`, which makes a server listen on `address`, and returns the result of `start`. If `start` fails, rejects
 * with ERR_CONFIG_PORT_IN_USE or ERR_CONFIG_ADDRESS. The message names `flag`.
 */
export async function startListening<T>(flag: string, address: ListenAddress, start: () => Promise<T>): Promise<T> {
  try {
    return await start();
  } catch (cause) {
    const where = `${flag} ${formatListenAddress(address)}`;
    const code = cause instanceof Error && "code" in cause && typeof cause.code === "string" ? cause.code : "";
    if (code === "EADDRINUSE") {
      const fix = `stop that process or set ${flag} to another address`;
      const message = `${where}: the port is in use by another process; ${fix}`;
      throw new ResolverError("ERR_CONFIG_PORT_IN_USE", message, { cause });
    }
    const reason = REASONS[code];
    if (reason === undefined) throw cause;
    throw new ResolverError("ERR_CONFIG_ADDRESS", `${where}: ${reason}; set ${flag} to another address`, { cause });
  }
}
