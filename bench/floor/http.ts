/**
 * A server that uses only node:http. The benchmark compares the sidecar with this minimal server. The server prints its
 * port.
 */
import { createServer } from "node:http";

const BODY = Buffer.from(JSON.stringify({
  AccessKeyId: "ASIA0000000000000000", SecretAccessKey: "s".repeat(40), Token: "t".repeat(400),
  AccountId: "111122223333", Expiration: "2026-08-01T12:00:00Z",
}));

const server = createServer((_request, response) => {
  const headers = { "content-type": "application/json", "cache-control": "no-store", "content-length": BODY.length };
  response.writeHead(200, headers).end(BODY);
});
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  if (typeof address === "object" && address !== null) process.stdout.write(`${address.port}\n`);
});
