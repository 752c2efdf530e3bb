import { test } from "tap";
import { field, stringAt } from "../../../shared/formats/json.ts";
import { type CertificateSet, parseSecret, withCertificates } from "../../../certs/rotation/secret.ts";
import { HOSTS, makeCA, makeLeaf, NOW_MS, secretWith } from "./stored.ts";

const [ca, next, previous] = await Promise.all([makeCA(), makeCA(), makeCA()]);
const leaf = await makeLeaf(ca);
const SET: CertificateSet = { ca, next, leaf, previous: [previous.cert] };
const OWN = { hosts: HOSTS, isOwn: (pem: string): boolean => [ca, next, previous].some(({ cert }) => cert === pem) };
const TEXTS = { "tls.crt": leaf.cert, "tls.key": leaf.key, "ca.crt": ca.cert, "ca.key": ca.key };

test("parses the certificates that it wrote", (t) => {
  const written = withCertificates(secretWith({ other: "x" }), SET, "create");
  const parsed = parseSecret(written, OWN);
  t.same(parsed.faults, []);
  t.match(parsed, {
    leaf: { ...leaf, missingHosts: [] }, ca: { ...ca, permitsHosts: true }, next,
    previous: [previous.cert], rotate: null,
  });
  t.equal(parsed.ca?.notBeforeMs, NOW_MS - 300_000);
  t.match(written, { metadata: { resourceVersion: "1" }, type: "Opaque", data: { other: /./ } });
  const rotated = withCertificates(written, { ...SET, next: null, previous: [] }, "retire");
  t.same(Object.keys(field(rotated, "data") ?? {}).toSorted(), ["ca.crt", "ca.key", "other", "tls.crt", "tls.key"]);
  t.end();
});

test("removes the rotate annotation when a step fulfills it", (t) => {
  const annotationAfter = (rotate: string, step: string): string | null => {
    const secret = secretWith(TEXTS, { "ack-role-resolver.io/rotate": rotate, team: "a" });
    const written = withCertificates(secret, SET, step);
    t.equal(stringAt(written, "metadata", "annotations", "team"), "a");
    return parseSecret(written, OWN).rotate;
  };
  t.equal(annotationAfter("leaf", "issue"), null);
  t.equal(annotationAfter("ca", "stage"), null);
  t.equal(annotationAfter("ca", "issue"), "ca");
  t.equal(annotationAfter("leaf", "stage"), "leaf");
  t.equal(annotationAfter("constructor", "stage"), "constructor");
  t.end();
});

test("reports each missing or invalid part, and never its content", async (t) => {
  const planted = "planted-private-key";
  const faultsOf = (texts: Readonly<Record<string, string>>): readonly string[] => (
    parseSecret(secretWith(texts), OWN).faults
  );
  t.same(faultsOf({}), ["ca.crt, ca.key: missing", "tls.crt, tls.key: missing"]);
  t.same(parseSecret({}, OWN).faults, faultsOf({}), "a Secret that does not exist");
  const garbled = faultsOf({ ...TEXTS, "ca.key": planted, "tls.crt": planted, "next-ca.key": planted });
  t.same(garbled, [
    "ca.key: not a PEM private key without a passphrase",
    "next-ca.crt: not a PEM certificate", "next-ca.key: not a PEM private key without a passphrase",
    "tls.crt: not a PEM certificate",
  ]);
  t.notMatch(JSON.stringify(garbled), planted);
  t.same(faultsOf({ ...TEXTS, "tls.key": ca.key }), ["tls.key: not the private key of the certificate in tls.crt"]);
  t.same(faultsOf({ ...TEXTS, "ca.crt": leaf.cert, "ca.key": leaf.key }), ["ca.crt: not the certificate of a CA"]);
  t.same(faultsOf({ ...TEXTS, "ca.crt": next.cert, "ca.key": next.key }), ["tls.crt: not signed by the CA in ca.crt"]);
  t.same(faultsOf({ ...TEXTS, "previous-ca.crt": leaf.cert }), [
    "previous-ca.crt: contains a CA that this installation did not issue, or other text"]);
  const truncated = TEXTS["tls.key"].slice(0, 200);
  t.same(faultsOf({ ...TEXTS, "tls.key": truncated }), ["tls.key: not a PEM private key without a passphrase"]);
});

test("compares the names of the certificate and of the CA with those of the webhook", async (t) => {
  const hosts = [...HOSTS, "new.ns.svc", "10.0.0.1"];
  const parsed = parseSecret(secretWith(TEXTS), { ...OWN, hosts });
  t.same(parsed.leaf?.missingHosts, ["new.ns.svc", "10.0.0.1"]);
  t.equal(parsed.ca?.permitsHosts, false);
  t.same(parsed.faults, []);
});
