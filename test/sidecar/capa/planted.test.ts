import { INVENTORY_KINDS } from "../../../shared/kinds.ts";
import { type Test, test } from "tap";
import type { BaseCredentials } from "../../../cli/local/sts-emulator/principals.ts";
import { Inventory } from "../../../shared/core/inventory.ts";
import { stringAt } from "../../../shared/formats/json.ts";
import {
  controllerIdentity, INFRASTRUCTURE, roleARN, roleIdentity, staticIdentity,
} from "../../shared/capa-objects.ts";
import { namespaceObject, put } from "../../shared/objects.ts";
import { FakeClock } from "../fake-clock.ts";
import { HOUR, MINUTE, SECOND } from "../fake-sts.ts";
import { BASE, type Faults, get, loadedSource, type Running, start } from "../running-sidecar.ts";
import { SECRET_NAMESPACE, secretData, SecretServer } from "./secret-server.ts";

const EXTERNAL_ID = "planted-external-id-4711";
const POLICY = '{"Version":"2012-10-17","Statement":[{"Sid":"plantedpolicy"}]}';
const OBJECTS = [
  namespaceObject("team-a"), controllerIdentity(), staticIdentity("s", {}, "creds"),
  roleIdentity("a", "role/b", {}, { externalID: EXTERNAL_ID, inlinePolicy: POLICY }),
  roleIdentity("b", "static/s", {}, { externalID: EXTERNAL_ID }),
  roleIdentity("direct", "controller", {}, { externalID: EXTERNAL_ID }),
];
const PATHS = ["AWSClusterStaticIdentity/s", "AWSClusterRoleIdentity/a", "AWSClusterRoleIdentity/direct"];
const CODES = [
  "ValidationError", "InternalFailure", "AccessDenied", "ServiceUnavailable", "ExpiredToken", "InvalidClientTokenId",
  "SignatureDoesNotMatch", "SomethingNew",
];

interface PlantedKey extends BaseCredentials {
  readonly sessionToken: string;
}

/** Returns the access key of round `i`. All values are distinctive. */
function plantedKey(i: number): PlantedKey {
  return {
    accessKeyID: `ASIAPLANTEDROUND${i}`, secretAccessKey: `planted-secret/${i}+0123456789`,
    sessionToken: `planted-session-token-${i}-0123456789`, arn: "arn:aws:sts::444455556666:assumed-role/capa/keys",
  };
}

function valuesOf({ accessKeyID, secretAccessKey, sessionToken }: PlantedKey): Record<string, string> {
  return { AccessKeyID: accessKeyID, SecretAccessKey: secretAccessKey, SessionToken: sessionToken };
}

const KEYS = Array.from({ length: CODES.length + 1 }, (_, i) => plantedKey(i));

/** Returns the planted values, and their base64 forms. */
function plantedTexts(): string[] {
  const values = [...KEYS.flatMap((key) => Object.values(valuesOf(key))), EXTERNAL_ID, POLICY, "plantedpolicy"];
  const forms = ["base64", "base64url"] as const;
  const bases = values.flatMap((value) => forms.map((form) => Buffer.from(value).toString(form)));
  return [...values, ...bases.map((text) => text.replace(/=+$/, ""))];
}

/** A sidecar that reads the planted Secret, and an STS that quotes all values that it receives. */
class Planted {
  readonly clock = new FakeClock(Date.now());
  readonly server: SecretServer;
  readonly errors: string[] = [];
  readonly codes = new Set<string>();
  readonly pages: string[] = [];
  /** The access key in the Secret. */
  current: PlantedKey = plantedKey(0);
  /** The code of the error that STS returns; null if STS returns no error. */
  stsCode: string | null = null;
  #running: Running | null = null;

  constructor() {
    this.server = new SecretServer(this.clock, { creds: secretData(valuesOf(this.current)) });
  }

  static async start(t: Test): Promise<Planted> {
    const planted = new Planted();
    const { clock, server: { api } } = planted;
    const inventory = new Inventory({ runtime: "ack", origin: "file" }, INVENTORY_KINDS);
    inventory.apply(OBJECTS.map(put));
    const settings = { group: [INFRASTRUCTURE], identitySecretNamespace: SECRET_NAMESPACE };
    // The base identity is not refreshed during the test, so that the Secret signs all other GetCallerIdentity calls.
    const expirationMs = clock.now() + 12 * HOUR;
    const baseProvider = async (): Promise<typeof BASE & { expirationMs: number }> => ({ ...BASE, expirationMs });
    const runtime = { source: { ...loadedSource(), inventory }, clock, api, baseProvider };
    const faults: Faults = ({ roleARN: role }, authorization) => planted.#fault(role, authorization);
    planted.#running = await start(t, settings, runtime, { faults, keys: KEYS });
    await clock.advance(SECOND);
    return planted;
  }

  get running(): Running {
    if (this.#running === null) throw new Error("the sidecar is not started");
    return this.#running;
  }

  async rotate(key: PlantedKey): Promise<void> {
    this.current = key;
    await this.server.change("creds", secretData(valuesOf(key)));
  }

  /** Requests each identity and each health page. Returns the statuses of the identities. */
  async requestAll(): Promise<readonly number[]> {
    const { sidecar } = this.running;
    const statuses: number[] = [];
    for (const path of PATHS) {
      const { status, body } = await get(sidecar.address, `/v1/credentials/identities/${path}?namespace=team-a`);
      statuses.push(status);
      if (status !== 200) this.errors.push(body);
      if (status !== 200) this.codes.add(stringAt(JSON.parse(body), "code") ?? "");
    }
    await this.clock.advance(SECOND);
    for (const page of ["/readyz", "/metrics"]) this.pages.push((await get(sidecar.healthAddress, page)).body);
    return statuses;
  }

  #fault(role: string | null, authorization: string): ReturnType<Faults> {
    if (this.stsCode === null) return null;
    // The Secret may have changed since the sidecar signed the request.
    const key = KEYS.find(({ accessKeyID }) => authorization.includes(`Credential=${accessKeyID}/`));
    const message = [
      ...(key === undefined ? [] : Object.values(valuesOf(key))),
      ...(role === null ? [] : [`'${EXTERNAL_ID}'`]), ...(role === roleARN("a") ? [POLICY] : []),
    ].join(" ");
    return { do: "reject", code: this.stsCode, status: this.stsCode === "InternalFailure" ? 500 : 403, message };
  }
}

test("no log, metric, error, health page or Event contains a value of a Secret or an external ID", async (t) => {
  const planted = await Planted.start(t);
  const { server, clock, running: { logLines, sts } } = planted;
  t.same(await planted.requestAll(), [200, 200, 200]);
  t.same(sts.calls.map(({ action }) => action).toSorted(), [
    "AssumeRole", "AssumeRole", "AssumeRole", "GetCallerIdentity", "GetCallerIdentity",
  ]);
  for (const [i, code] of CODES.entries()) {
    planted.stsCode = code;
    await planted.rotate(plantedKey(i + 1));
    await planted.requestAll();
    // Refreshes the sessions of the base identity, which also fails.
    if (i === 0) await clock.advance(35 * MINUTE);
  }
  const { AccessKeyID = "", SecretAccessKey = "", SessionToken = "" } = valuesOf(planted.current);
  for (const values of [
    { accessKeyID: AccessKeyID, SecretAccessKey }, { AccessKeyID },
    { AccessKeyID: `${AccessKeyID}\n`, SecretAccessKey: "", SessionToken: `\n${SessionToken}` },
  ]) {
    await server.change("creds", secretData(values));
    await planted.requestAll();
  }
  server.status = 500;
  await planted.rotate(planted.current);
  await planted.requestAll();
  await clock.advance(10 * MINUTE);
  await planted.requestAll();
  t.same([...planted.codes].toSorted(), [
    "ERR_CLUSTER_UNREADABLE", "ERR_IDENTITY_SECRET", "ERR_STS_REFUSED", "ERR_STS_UNAVAILABLE",
  ]);
  const sent = server.requests.map(({ path, body = "" }) => `${path} ${body}`);
  for (const [where, texts] of Object.entries({ logLines, errors: planted.errors, pages: planted.pages, sent })) {
    const all = texts.join("\n");
    t.same(plantedTexts().filter((text) => all.includes(text)), [], where);
    t.ok(all.length > 500, `${where} has ${all.length} characters`);
  }
  for (const words of ["[redacted]", "request rejected", "list of Secrets is stale", "session refresh failed"]) {
    t.match(logLines.join(""), words);
  }
});
