import { test } from "tap";
import { readAccessKey } from "../../../shared/capa/identity-secret.ts";

const base64 = (text: string): string => Buffer.from(text).toString("base64");
const ID = base64("AKIAPLANTED");
const SECRET = base64("planted-secret/+=");

test("reads the keys that CAPA reads, and the optional session token", (t) => {
  t.same(readAccessKey({ data: { AccessKeyID: ID, SecretAccessKey: SECRET, other: "x" } }), {
    key: { accessKeyID: "AKIAPLANTED", secretAccessKey: "planted-secret/+=", sessionToken: null }, fault: null,
  });
  const withToken = { AccessKeyID: ID, SecretAccessKey: SECRET, SessionToken: base64("planted-token") };
  t.equal(readAccessKey({ data: withToken }).key?.sessionToken, "planted-token");
  t.equal(readAccessKey({ data: { ...withToken, SessionToken: "" } }).key?.sessionToken, null);
  t.end();
});

test("states each fault of a Secret without its values", (t) => {
  const fault = (data: unknown): string => readAccessKey({ data }).fault ?? "";
  const invalid = "is not printable ASCII without spaces and newlines";
  t.equal(fault(undefined), "its key AccessKeyID is missing; its key SecretAccessKey is missing");
  t.equal(fault("x"), "its key AccessKeyID is missing; its key SecretAccessKey is missing");
  t.equal(
    fault({ accessKeyId: ID, SecretAccessKey: "" }),
    'its key AccessKeyID is missing (it has "accessKeyId", but the names are case-sensitive); its key SecretAccessKey '
      + "is empty",
  );
  t.equal(fault({ AccessKeyID: ID, SecretAccessKey: 5 }), "its key SecretAccessKey is missing");
  for (const value of ["not base64!", base64("planted\n"), base64("planted key")]) {
    t.equal(fault({ AccessKeyID: ID, SecretAccessKey: value }), `the value of its key SecretAccessKey ${invalid}`);
  }
  const keys = { AccessKeyID: ID, SecretAccessKey: SECRET };
  t.equal(fault({ ...keys, SessionToken: base64("p".repeat(4_096)) }), "");
  for (const value of [base64("p".repeat(4_099)), "A".repeat(9_000), "!".repeat(1_400_000)]) {
    t.equal(fault({ ...keys, SessionToken: value }), "the value of its key SessionToken has more than 4096 bytes");
  }
  t.end();
});

test("rejects a secret access key in the place of an access key ID, which STS would receive in plain text", (t) => {
  const fault = (id: string): string => (
    readAccessKey({ data: { AccessKeyID: base64(id), SecretAccessKey: SECRET } }).fault ?? ""
  );
  t.equal(fault(`planted/${"x".repeat(32)}`), "the value of its key AccessKeyID looks like a secret access key");
  for (const id of ["AKIAIOSFODNN7EXAMPLE", "A".repeat(40), "testing", "x".repeat(41)]) t.equal(fault(id), "");
  t.end();
});
