import { INVENTORY_KINDS } from "../../shared/kinds.ts";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { test } from "tap";
import { Inventory } from "../../shared/core/inventory.ts";
import { namespaceObject, put, selectorObject } from "../shared/objects.ts";
import { FakeClock } from "./fake-clock.ts";
import { BASE, get, loadedSource, start } from "./running-sidecar.ts";

/** Every secret starts with this prefix. */
const PLANTED = "planted";
const MINUTE = 60_000;
const secret = (of: string): string => `${PLANTED}-${of}`;
const annotations = {
  "ack-role-resolver.io/external-id": secret("external-id"),
  "ack-role-resolver.io/session-tags": `team=${secret("tag-value")}`,
};
const OBJECTS = [
  namespaceObject("team-a"),
  selectorObject(
    "quoted",
    { arn: "arn:aws:iam::111111111111:role/quoted", namespaceSelector: { names: ["team-a"] } },
    { annotations },
  ),
  selectorObject(
    "broken",
    { arn: "arn:aws:iam::111111111111:role/broken", namespaceSelector: { names: ["team-b"] } },
    { annotations },
  ),
];

/** Returns the faults of an STS that rejects requests with various codes and quotes their secrets. */
function quoting(): NonNullable<Parameters<typeof start>[3]> {
  const ofBase = `token ${BASE.sessionToken}, key ${BASE.secretAccessKey}`;
  const values = `Value '${secret("external-id")}' at 'externalId', value '${secret("tag-value")}' at 'tags'`;
  const ofRole = `${values}, ${ofBase}`;
  const codes = ["ValidationError", "InternalFailure", "AccessDenied", "ServiceUnavailable", "ExpiredToken"];
  let calls = 0;
  let proofs = 0;
  return ({ action }) => {
    if (action === "AssumeRole")
      return { do: "reject", code: codes[calls++ % codes.length] ?? "", status: 400, message: ofRole };
    return proofs++ % 3 === 0 ? { do: "reject", code: "InternalFailure", status: 500, message: ofBase } : null;
  };
}

/** Sends raw bytes, and returns all bytes that the sidecar sends until it closes the connection. */
async function raw(address: string, bytes: string): Promise<string> {
  const socket = connect(Number(address.split(":")[1]), "127.0.0.1");
  await once(socket, "connect");
  socket.write(bytes);
  return (await socket.setEncoding("utf8").toArray()).join("");
}

function malformed(address: string): string[] {
  const body = secret("body");
  const authorization = `Authorization: AWS4-HMAC-SHA256 Credential=AKIA/${secret("signature")}`;
  const signed = `${authorization}\r\nX-Amz-Security-Token: ${secret("token")}\r\nContent-Length: ${body.length}`;
  return [
    `POST /sts HTTP/1.1\r\nHost: ${address}\r\n${signed}\r\nConnection: close\r\n\r\n${body}`,
    `${secret("no-http")}\r\n\r\n`,
    `GET /v1/credentials HTTP/1.1\r\nHost: ${address}\r\nAuthorization: ${secret("large").repeat(1_000)}\r\n\r\n`,
  ];
}

const AUTHORIZATION = secret("client-token");
const STRANGE: readonly (readonly [path: string, headers: Readonly<Record<string, string>>])[] = [
  [`/v1/credentials?token=${secret("query")}`, { authorization: AUTHORIZATION }],
  ["/v1/credentials", { authorization: `Bearer ${secret("wrong-token")}` }],
  ["/v1/credentials", { authorization: AUTHORIZATION, "x-forwarded-for": secret("header") }],
  ["/v1/credentials", { authorization: AUTHORIZATION, host: `${secret("host")}.example` }],
  [`/${secret("path")}`, { authorization: "none" }],
];
const PATHS = [
  "/v1/credentials",
  "/v1/credentials/selectors/quoted",
  "/v1/credentials/selectors/broken",
  "/v1/credentials/namespaces/team-a",
];

test("trace logs, metrics and error responses contain no secret", async (t) => {
  const clock = new FakeClock(Date.now());
  const tokenFile = join(t.testdir({ token: AUTHORIZATION }), "token");
  const inventory = new Inventory({ runtime: "ack", origin: "file" }, INVENTORY_KINDS);
  inventory.apply(OBJECTS.map(put));
  const baseProvider = async (): Promise<typeof BASE & { expirationMs: number }> => ({
    ...BASE,
    expirationMs: clock.now() + 5 * MINUTE,
  });
  const settings = { tokenFile, check: ["IRS-27=warn"] };
  const { sidecar, logLines } = await start(
    t,
    settings,
    { source: { ...loadedSource(), inventory }, clock, baseProvider },
    quoting(),
  );
  const bodies: string[] = [];
  const request = async (path: string, headers: Readonly<Record<string, string>>): Promise<void> => {
    const { status, body } = await get(sidecar.address, path, headers);
    if (status !== 200) bodies.push(body);
  };
  for (let i = 0; i < 12; i++) {
    for (const path of PATHS) await request(path, { authorization: AUTHORIZATION });
    await clock.advance(MINUTE);
  }
  for (const [path, headers] of STRANGE) await request(path, headers);
  for (const bytes of malformed(sidecar.address)) bodies.push(await raw(sidecar.address, bytes));
  await writeFile(tokenFile, `${AUTHORIZATION} no token`);
  while (!logLines.join("").includes("token file is not usable")) {
    await clock.advance(1_000);
    await get(sidecar.healthAddress, "/healthz");
  }
  const { body: metrics } = await get(sidecar.healthAddress, "/metrics");
  const { body: readiness } = await get(sidecar.healthAddress, "/readyz");
  const output = { log: logLines, metrics: [metrics], readiness: [readiness], bodies };
  for (const [where, texts] of Object.entries(output))
    t.same(
      texts.filter((text) => text.includes(PLANTED)),
      [],
      where,
    );
  for (const words of ["token file is not usable", "IRS-27: ", "request rejected", "[redacted]"])
    t.match(logLines.join(""), words);
  t.ok(bodies.length > 20, `${bodies.length} error bodies`);
});
