import { generateKeyPairSync } from "node:crypto";
import { test } from "tap";
import { makeAuthority } from "../../../certs/make.ts";
import { parseSecret } from "../../../certs/rotation/secret.ts";
import { DAY_MS, HOSTS, makeCA, makeLeaf, secretWith } from "./stored.ts";

type Texts = Readonly<Record<string, string>>;

test("no content of the Secret makes the parser throw", async (t) => {
  const ca = await makeCA();
  const leaf = await makeLeaf(ca);
  const valid: Texts = { "ca.crt": ca.cert, "ca.key": ca.key, "tls.crt": leaf.cert, "tls.key": leaf.key };
  const ec = generateKeyPairSync("ec", {
    namedCurve: "P-256", publicKeyEncoding: { type: "spki", format: "pem" },
    privateKeyEncoding: { type: "sec1", format: "pem" },
  });
  const dated = await makeAuthority({ names: HOSTS, now: new Date(0), notAfter: new Date(DAY_MS) });
  const hostile = [
    "", "garbage", "\0", "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n", ec.privateKey, ec.publicKey,
    `-----BEGIN CERTIFICATE-----\n${"A".repeat(1_000_000)}\n-----END CERTIFICATE-----\n`, ca.cert.repeat(40),
    ca.cert.replaceAll("\n", "\r\n"), ca.cert.replaceAll("CERTIFICATE", "X509 CERTIFICATE"),
    ca.key, leaf.cert, dated.cert,
    ...Array.from({ length: 6 }, (_, count) => mutated(count % 2 === 0 ? ca.cert : ca.key, count)),
    ...Array.from({ length: 3 }, (_, count) => ca.cert.slice(0, 1 + count * 400)),
  ];
  const keys = [...Object.keys(valid), "next-ca.crt", "next-ca.key", "previous-ca.crt"];
  for (const text of hostile) {
    for (const key of keys) {
      const texts = { ...valid, "next-ca.crt": ca.cert, "next-ca.key": ca.key, [key]: text };
      const { faults } = parseSecret(secretWith(texts), { hosts: HOSTS, isOwn: (pem) => pem === ca.cert });
      // A key can contain numbers that no signature uses.
      const isHarmless = text.startsWith(ca.key.slice(0, 40)) || text === valid[key];
      if (faults.length === 0 && !isHarmless) t.fail(`${key}: ${JSON.stringify(text.slice(0, 80))} is not reported`);
      if (faults.some((fault) => fault.length > 200)) t.fail(`a long fault: ${faults.join()}`);
    }
  }
  for (const data of [null, [], "text", { "ca.crt": 1, "tls.key": null, "next-ca.crt": {} }]) {
    t.ok(parseSecret({ data }, { hosts: HOSTS, isOwn: () => true }).faults.length > 0);
  }
});

/** Returns the text with one changed character, which is another one for each count. */
function mutated(text: string, count: number): string {
  const at = 30 + ((count * 7919) % (text.length - 60));
  return `${text.slice(0, at)}${text[at] === "A" ? "B" : "A"}${text.slice(at + 1)}`;
}
