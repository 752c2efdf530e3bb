import { generateKeyPairSync, type KeyObject, sign, X509Certificate } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import forge from "node-forge";
import { test } from "tap";
import { type CertificateAndKey, makeCertificates } from "../../../certs/make.ts";
import type { FakeKubernetes } from "./fake-kubernetes.ts";
import {
  advanceUntil, bundles, entry, eventReasons, isServed, running, SECRET, served, SERVING, startReplica, until,
} from "./replica-fixture.ts";
import { makeCA, makeLeaf } from "./stored.ts";

const { asn1, pem } = forge;
const HOST = "ack-role-resolver-webhook.ack-role-resolver.svc";
type Texts = Readonly<Record<string, string>>;

function write(api: FakeKubernetes, path: string, texts: Texts): void {
  const data = Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, btoa(text)]));
  api.change(path, (secret) => ({ ...secret, data: { ...Object(secret["data"]), ...data } }));
}

/** Returns an attacker's CA with the right names, and a complete Secret of this CA. */
async function attacker(nowMs: number): Promise<{ readonly ca: CertificateAndKey; readonly set: Texts }> {
  const names = [HOST, `${HOST}.cluster.local`];
  const ca = await makeCA(nowMs, names);
  const leaf = await makeLeaf(ca, nowMs, names);
  return { ca, set: { "ca.crt": ca.cert, "ca.key": ca.key, "tls.crt": leaf.cert, "tls.key": leaf.key } };
}

/** Returns each way to write a CA of an attacker to the Secrets. */
async function attacks(api: FakeKubernetes, nowMs: number): Promise<Record<string, readonly [string, Texts]>> {
  const { ca, set } = await attacker(nowMs);
  const { ca: unconstrained } = await makeCertificates({ hosts: [HOST], now: new Date(nowMs) });
  const own = entry(api, "ca.crt");
  return {
    "a previous CA without name constraints": [SECRET, { "previous-ca.crt": unconstrained }],
    "a previous CA with the name constraints": [SECRET, { "previous-ca.crt": ca.cert }],
    "a previous CA behind the current one": [SECRET, { "previous-ca.crt": own + ca.cert }],
    "a CA behind the current one": [SECRET, { "ca.crt": own + ca.cert }],
    "a CA before the current one": [SECRET, { "ca.crt": ca.cert + own }],
    "another current CA": [SECRET, { "ca.crt": ca.cert, "ca.key": ca.key }],
    "a next CA": [SECRET, { "next-ca.crt": ca.cert, "next-ca.key": ca.key }],
    "a complete Secret": [SECRET, set],
    "another serving certificate": [SERVING, set],
  };
}

test("never publishes a CA that another program wrote to a Secret, and restores the Secret", async (t) => {
  const { api } = await running(t);
  const before = entry(api, "ca.crt");
  const since = api.history.length;
  for (const [attack, [path, texts]] of Object.entries(await attacks(api, Date.parse("2026-01-01T00:00:00Z")))) {
    const { data } = api.object(path);
    write(api, path, texts);
    await until(() => isRestored(api, path, data));
    t.same(bundles(api), [before], attack);
  }
  const published = api.history.slice(since).filter(({ webhooks }) => webhooks !== undefined);
  t.same(published, [], "no configuration was written");
  t.ok(isServed(api));
});

function isRestored(api: FakeKubernetes, path: string, data: unknown): boolean {
  return isDeepStrictEqual(api.object(path)["data"], data);
}

test("never publishes such a CA after a restart either, which remembers nothing", async (t) => {
  const names = ["a previous CA with the name constraints", "a next CA", "another current CA", "a complete Secret"];
  for (const name of names) {
    const { api, clock, manager } = await running(t);
    const own = entry(api, "ca.crt");
    await manager.close();
    const [path, texts] = (await attacks(api, clock.now()))[name] ?? [SECRET, {}];
    write(api, path, texts);
    startReplica(t, api, clock, { identity: "second" });
    const evil = Object.values(texts).find((text) => text.includes("BEGIN CERTIFICATE")) ?? "";
    const isValid = (): boolean => !JSON.stringify(api.object(SECRET)["data"]).includes(btoa(evil).slice(0, -4));
    await advanceUntil(clock, () => isValid() && isServed(api) && bundles(api).join("").includes(entry(api, "ca.crt")));
    t.notOk(bundles(api).join("").includes(evil), name);
    t.ok(bundles(api).join("").includes(own), "the API server still trusts what the replicas serve");
    t.notOk(served(api).some((cert) => cert === texts["tls.crt"]));
  }
});

test("adopts the CA of an earlier version, and removes its key from the Secret of the webhook", async (t) => {
  const { api, clock, manager } = await running(t);
  await manager.close();
  const { data } = api.object(SECRET);
  const certificate = served(api);
  api.change(SERVING, (secret) => ({ ...secret, data }));
  api.change(SECRET, ({ kind = "", metadata = {} }) => ({ kind, metadata }));
  startReplica(t, api, clock, { identity: "second" });
  await advanceUntil(clock, () => isServed(api));
  t.ok(isRestored(api, SECRET, data), "the CA is the same");
  t.same(served(api), certificate, "the certificate is the same");
  t.same(bundles(api), [entry(api, "ca.crt")]);
});

test("does not adopt a CA from the Secret of the webhook that no caBundle contains", async (t) => {
  const { api, clock, manager } = await running(t);
  await manager.close();
  const { ca, set } = await attacker(clock.now());
  const own = entry(api, "ca.crt");
  write(api, SERVING, set);
  api.change(SECRET, ({ kind = "", metadata = {} }) => ({ kind, metadata }));
  startReplica(t, api, clock, { identity: "second" });
  await advanceUntil(clock, () => isServed(api) && bundles(api).join("").startsWith(entry(api, "ca.crt")));
  t.notOk(bundles(api).join("").includes(ca.cert));
  t.ok(bundles(api).join("").includes(own));
});

/** The signature algorithms of RFC 5758, 8410 and 8017, by type of key. */
const SIGNATURES: Readonly<Record<string, string>> = {
  ec: "1.2.840.10045.4.3.2", ed25519: "1.3.101.112", rsa: "1.2.840.113549.1.1.11",
};
/** The positions of fields in a TBSCertificate: RFC 5280, section 4.1. */
const [TBS_SIGNATURE, TBS_PUBLIC_KEY] = [2, 6];

interface KeyPair {
  readonly publicKey: KeyObject;
  readonly privateKey: KeyObject;
}

/** Returns the elements of a constructed ASN.1 value. */
function elements({ value }: forge.asn1.Asn1): forge.asn1.Asn1[] {
  if (typeof value === "string") throw new Error("the value is primitive");
  return value;
}

function sequence(...values: forge.asn1.Asn1[]): forge.asn1.Asn1 {
  return asn1.create(asn1.Class.UNIVERSAL, asn1.Type.SEQUENCE, true, values);
}

/** Returns the CA with another key pair. Node signs it, because node-forge signs with RSA only. */
function withKeys(ca: CertificateAndKey, { publicKey, privateKey }: KeyPair): CertificateAndKey {
  const type = publicKey.asymmetricKeyType ?? "";
  const oid = asn1.oidToDer(SIGNATURES[type] ?? "").getBytes();
  const algorithm = sequence(asn1.create(asn1.Class.UNIVERSAL, asn1.Type.OID, false, oid));
  const [tbs = sequence()] = elements(asn1.fromDer(pem.decode(ca.cert)[0]?.body ?? ""));
  elements(tbs)[TBS_SIGNATURE] = algorithm;
  const spki = publicKey.export({ type: "spki", format: "der" });
  elements(tbs)[TBS_PUBLIC_KEY] = asn1.fromDer(spki.toString("latin1"));
  const content = Buffer.from(asn1.toDer(tbs).getBytes(), "latin1");
  const signed = sign(type === "ed25519" ? null : "sha256", content, privateKey);
  const bits = asn1.create(asn1.Class.UNIVERSAL, asn1.Type.BITSTRING, false, `\0${signed.toString("latin1")}`);
  const body = asn1.toDer(sequence(tbs, algorithm, bits)).getBytes();
  return {
    cert: pem.encode({ type: "CERTIFICATE", body }), key: privateKey.export({ type: "pkcs8", format: "pem" }),
  };
}

test("restores a Secret whose next CA has a key that node-forge cannot read, also after a restart", async (t) => {
  const authority = await makeCA();
  const others = {
    EC: generateKeyPairSync("ec", { namedCurve: "P-256" }), Ed25519: generateKeyPairSync("ed25519"),
    "RSA of 4096 bits": generateKeyPairSync("rsa", { modulusLength: 4096 }),
  };
  for (const [name, keys] of Object.entries(others)) {
    const { cert, key } = withKeys(authority, keys);
    t.ok(new X509Certificate(cert).verify(keys.publicKey), name);
    const { api, clock, manager } = await running(t);
    const own = entry(api, "ca.crt");
    for (const [certKey, keyKey] of [["next-ca.crt", "next-ca.key"], ["ca.crt", "ca.key"]] as const) {
      const { data } = api.object(SECRET);
      write(api, SECRET, { [certKey]: cert, [keyKey]: key });
      await until(() => isRestored(api, SECRET, data));
    }
    await advanceUntil(clock, () => eventReasons(api).includes("CertificatesRestored"));
    await manager.close();
    write(api, SECRET, { "next-ca.crt": cert, "next-ca.key": key });
    startReplica(t, api, clock, { identity: "second" });
    await advanceUntil(clock, () => entry(api, "next-ca.crt") === "" && isServed(api));
    t.same(bundles(api), [own], name);
  }
});
