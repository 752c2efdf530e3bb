import { runChecks } from "../../../shared/judges.ts";
import { SECRETS } from "../../../shared/capa/secrets.ts";
import { test } from "tap";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { roleIdentity, staticIdentity } from "../capa-objects.ts";
import { managedBy, secretMetadata } from "../capa-secrets.ts";
import { inventoryWith, SETTINGS_BY_DEFAULT } from "../objects.ts";
import { type CapaInput, capaLines, testCases } from "../core/capa-lines.ts";

const SETTINGS = { identitySecretNamespace: "capa-system" } as const;
const IDENTITY = staticIdentity("s", { list: ["team-a"] });
const withKeys = (...keys: readonly string[]): JsonObject => secretMetadata([managedBy("kubectl-create", keys)]);
const manifest = (data: JsonObject): JsonObject => (
  { apiVersion: "v1", kind: "Secret", metadata: { name: "s-creds", namespace: "capa-system" }, data }
);
const OTHER_SECRET = { ...manifest({}), metadata: { name: "other", namespace: "capa-system" } };
const STATIC_KEY = withKeys("AccessKeyID", "SecretAccessKey");
const FILES = { origin: "file", settings: SETTINGS } as const;

type Case = readonly [
  id: string, when: string, secret: JsonObject | null, expected: readonly RegExp[], rest?: CapaInput,
];

const CASES: readonly Case[] = [
  ["CI-10", "the keys are in the wrong case", withKeys("accessKeyID", "secretAccessKey"), [
    /^deny CI-10 spec\.secretRef: the Secret capa-system\/s-creds has the key "accessKeyID", not AccessKeyID: /,
    /^deny CI-10 spec\.secretRef: .* has the key "secretAccessKey", not SecretAccessKey/,
  ]],
  ["CI-10", "the stored identity has the same fault", withKeys("accessKeyID", "SecretAccessKey"), [/^warn CI-10/],
    { old: { ...IDENTITY, metadata: { name: "s", labels: {} } } }],
  ["CI-10", "the session token is in the wrong case", withKeys("AccessKeyID", "SecretAccessKey", "sessionToken"),
    [/^deny CI-10 .*"sessionToken", not SessionToken/]],
  ["CI-10", "a key is missing", withKeys("AccessKeyID"), [/^warn CI-10 .*s-creds has no key SecretAccessKey\. /]],
  ["CI-10", "a manifest has an empty key", manifest({ AccessKeyID: "x", SecretAccessKey: "" }),
    [/^warn CI-10 .*s-creds has an empty key SecretAccessKey\. /], FILES],
  ["CI-10", "the Secret has the keys", STATIC_KEY, []],
  ["CI-10", "the Secret does not exist", null,
    [/^warn CI-10 spec\.secretRef: the Secret capa-system\/s-creds does not exist\. Create/]],
  ["CI-10", "the names of the keys are unknown", secretMetadata([]), []],
  ["CI-10", "manifests that are not complete contain another Secret only", OTHER_SECRET, [], FILES],
  ["CI-10", "complete manifests contain another Secret only",
    OTHER_SECRET,
    [/^warn CI-10 .*does not exist/], { origin: "file", settings: { ...SETTINGS, isInputComplete: true } }],
];

testCases(CASES.map(([id, when, secret, expected, rest = {}]) => (
  [id, when, IDENTITY, expected, { settings: SETTINGS, ...rest, objects: secret === null ? [] : [secret] }]
)));

test("CI-10 is waivable, and ignores other identities and names that are not valid", (t) => {
  const waived = { ...IDENTITY, metadata: { name: "s", annotations: { "ack-role-resolver.io/allow": "CI-10" } } };
  const options = { settings: SETTINGS, objects: [withKeys("accessKeyID", "SecretAccessKey")] };
  t.match(capaLines("CI-10", waived, options), [/^warn CI-10/]);
  for (const object of [roleIdentity("r"), staticIdentity("s", {}, "a/b"), staticIdentity("s", {}, null)]) {
    t.same(capaLines("CI-10", object, options), []);
  }
  t.end();
});

function skipped(
  settings: CapaInput["settings"], objects: readonly JsonObject[], origin: "file" | "cluster",
): string[] {
  const inventory = inventoryWith(objects, { origin });
  const input = { object: IDENTITY, old: null, requester: null, origin, inventory };
  return runChecks(input, { ...SETTINGS_BY_DEFAULT, ...settings }).skipped
    .filter(({ code }) => code === "CI-10").map(({ code, needs }) => `${code}: ${needs}`);
}

test("skips the checks of Secrets without --identity-secret-namespace, or without Secrets in this namespace", (t) => {
  const flag = "--identity-secret-namespace";
  t.same(skipped({}, [], "cluster"), [`CI-10: ${flag}`]);
  t.same(skipped(SETTINGS, [], "cluster"), []);
  const elsewhere = { ...manifest({}), metadata: { name: "s-creds", namespace: "other" } };
  t.same(skipped(SETTINGS, [elsewhere], "file"), ["CI-10: secrets"]);
  t.same(skipped(SETTINGS, [manifest({})], "file"), []);
  t.same(skipped({}, [manifest({})], "file"), [`CI-10: ${flag}`], "the flag is enough");
  t.same(skipped({}, [], "file"), [`CI-10: ${flag}, secrets`]);
  const inventory = inventoryWith([]);
  inventory.apply([{ type: "unlisted", store: SECRETS, item: "Secrets" }]);
  const input = { object: IDENTITY, old: null, requester: null, origin: "cluster", inventory } as const;
  t.ok(runChecks(input, { ...SETTINGS_BY_DEFAULT, ...SETTINGS }).skipped.some(({ code }) => code === "CI-10"),
    "an unlisted collection is never treated as empty");
  t.end();
});
