import { isIP, type Server } from "node:net";
import { ResolverError } from "../decisions/errors.ts";

/** Where a server listens. `host` is an IP address (IPv6 without brackets) or a name; port 0 means any free one. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

const BRACKETED = /^\[([^\]]+)\]:(\d{1,5})$/;
const PLAIN = /^([a-z0-9](?:[a-z0-9.-]*[a-z0-9])?):(\d{1,5})$/i;
const MAX_PORT = 65_535;

/** Reads `HOST:PORT` or `[IPV6]:PORT`. Throws ERR_CONFIG_ADDRESS naming `flag` for anything else. */
export function parseListenAddress(text: string, flag: string): ListenAddress {
  const bracketed = BRACKETED.exec(text);
  const [, host = "", port = ""] = bracketed ?? PLAIN.exec(text) ?? [];
  if (host === "" || Number(port) > MAX_PORT || (bracketed !== null && isIP(host) !== 6)) {
    throw new ResolverError(
      "ERR_CONFIG_ADDRESS",
      `${flag}: ${JSON.stringify(text)} is no address to listen on; expected HOST:PORT with a port from 0 to ${MAX_PORT}, ` +
        "such as 127.0.0.1:9443 or [::]:9443",
    );
  }
  return { host, port: Number(port) };
}

/** The address as `parseListenAddress` reads it. */
export function formatListenAddress(address: ListenAddress): string {
  const host = isIP(address.host) === 6 ? `[${address.host}]` : address.host;
  return `${host}:${address.port}`;
}

/** Where a server that listens on TCP does listen: the port it got where 0 was asked for. */
export function boundAddress(server: Server): ListenAddress {
  const bound = server.address();
  if (bound === null || typeof bound === "string") throw new TypeError("the server does not listen on TCP");
  return { host: bound.address, port: bound.port };
}

/** Whether only this machine can reach the host: 127.0.0.0/8, ::1 or the name `localhost`. */
export function isLoopbackHost(host: string): boolean {
  const name = host.toLowerCase();
  return name === "localhost" || name === "::1" || (isIP(name) === 4 && name.startsWith("127."));
}

const REASONS: Readonly<Record<string, string>> = {
  EADDRNOTAVAIL: "this machine has no such address",
  EACCES: "this user may not listen there (ports below 1024 need a privilege)",
  ENOTFOUND: "that name does not resolve",
};

/**
 * Runs `start`, which makes a server listen on `address`, and passes on what it resolves to. A failure becomes a
 * ResolverError that names the flag which moves the listener: ERR_CONFIG_PORT_IN_USE or ERR_CONFIG_ADDRESS.
 */
export async function listening<T>(flag: string, address: ListenAddress, start: () => Promise<T>): Promise<T> {
  try {
    return await start();
  } catch (cause) {
    const where = `${flag} ${formatListenAddress(address)}`;
    const code = cause instanceof Error && "code" in cause && typeof cause.code === "string" ? cause.code : "";
    if (code === "EADDRINUSE") {
      const message = `${where}: the port is in use by another process; stop that process or give another address with ${flag}`;
      throw new ResolverError("ERR_CONFIG_PORT_IN_USE", message, { cause });
    }
    const reason = REASONS[code];
    if (reason === undefined) throw cause;
    throw new ResolverError("ERR_CONFIG_ADDRESS", `${where}: ${reason}; give another address with ${flag}`, { cause });
  }
}
