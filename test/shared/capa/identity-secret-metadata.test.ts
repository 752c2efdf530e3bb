import { test } from "tap";
import { readSecretMetadata, type SecretKey } from "../../../shared/capa/identity-secret.ts";
import { type JsonObject, parseJSON } from "../../../shared/formats/json.ts";
import { secretMetadata as secret, managedBy } from "../capa-secrets.ts";

/** Returns `NAME STATE`, and the similar key, for each key. */
function states(object: JsonObject): string[] | null {
  return readSecretMetadata(object).keys?.map(({ name, state, similar }: SecretKey) => (
    `${name} ${state}${similar === null ? "" : ` ${similar}`}`
  )) ?? null;
}

const BOTH = ["AccessKeyID", "SecretAccessKey"];
const STATIC_KEY = ["AccessKeyID present", "SecretAccessKey present", "SessionToken missing"];
const UNKNOWN_TOKEN = ["AccessKeyID present", "SecretAccessKey present", "SessionToken unknown"];

test("reads the names of the keys from the fields that managers own", (t) => {
  t.same(states(secret([managedBy("kubectl-create", BOTH)])), STATIC_KEY);
  t.same(states(secret([managedBy("a", ["AccessKeyID"]), managedBy("b", ["SecretAccessKey"])])), STATIC_KEY);
  t.same(states(secret([managedBy("a", ["accessKeyID", "SecretAccessKey", "sessiontoken"])])),
    ["AccessKeyID missing accessKeyID", "SecretAccessKey present", "SessionToken missing sessiontoken"]);
  t.same(states(secret([managedBy("a", ["other"])])),
    ["AccessKeyID missing", "SecretAccessKey missing", "SessionToken missing"]);
  t.end();
});

test("after a server-side apply of stringData, a key that no manager owns may exist", (t) => {
  t.same(states(secret([managedBy("kubectl", BOTH, { map: "f:stringData" })])), UNKNOWN_TOKEN);
  const both = [managedBy("helm", ["other"]), managedBy("kubectl", BOTH, { map: "f:stringData" })];
  t.same(states(secret(both)), UNKNOWN_TOKEN, "also beside a manager that owns keys in data");
  t.same(states(secret([managedBy("kubectl", ["accessKeyID"], { map: "f:stringData" })])),
    ["AccessKeyID missing accessKeyID", "SecretAccessKey unknown", "SessionToken unknown"]);
  t.end();
});

test("the names of the keys are unknown if no manager owns a key, or if the managed fields are not usable", (t) => {
  const noKeys: readonly unknown[] = [
    undefined, null, "text", {}, [], [null], [{ fieldsV1: { "f:data": "x" } }],
    [{ fieldsV1: { "f:data": { ".": {} } } }],
    [{ fieldsV1: { "f:metadata": { "f:labels": {} } } }],
    [managedBy("a", Array.from({ length: 2_001 }, (_, i) => `AccessKeyID${i}`))],
    [{ manager: "deep", fieldsV1: parseJSON(`${'{"a":'.repeat(20)}1${"}".repeat(20)}`) }],
  ];
  for (const managedFields of noKeys) t.equal(states(secret(managedFields)), null);
  t.equal(readSecretMetadata({}).keys, null);
  t.end();
});

test("reads the names of the keys and empty values from a manifest", (t) => {
  t.same(states({ data: { AccessKeyID: "x", SecretAccessKey: "" } }),
    ["AccessKeyID present", "SecretAccessKey empty", "SessionToken missing"]);
  t.same(states({ data: { AccessKeyID: "" }, stringData: { AccessKeyID: "x", SecretAccessKey: null } }),
    ["AccessKeyID present", "SecretAccessKey empty", "SessionToken missing"]);
  t.same(states({ data: { AccessKeyID: "x" }, stringData: { AccessKeyID: "" } })?.[0], "AccessKeyID empty");
  t.same(states({ stringData: { accessKeyID: "x", secretAccessKey: "y" } }),
    ["AccessKeyID missing accessKeyID", "SecretAccessKey missing secretAccessKey", "SessionToken missing"]);
  t.same(states({ data: {} })?.[0], "AccessKeyID missing");
  t.equal(states({ data: Object.fromEntries(Array.from({ length: 2_001 }, (_, i) => [`k${i}`, "x"])) }), null);
  t.equal(states({ data: "text" }), null);
  t.end();
});
