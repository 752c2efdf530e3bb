import { once } from "node:events";
import { createServer } from "node:net";

/** Returns different free loopback ports. Opens all ports at the same time, and then closes them. */
export async function freePorts(count: number): Promise<readonly number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, "127.0.0.1"));
  await Promise.all(servers.map((server) => once(server, "listening")));
  const addresses = servers.map((server) => server.address());
  await Promise.all(servers.map((server) => once(server.close(), "close")));
  return addresses.flatMap((address) => (address === null || typeof address === "string" ? [] : [address.port]));
}
