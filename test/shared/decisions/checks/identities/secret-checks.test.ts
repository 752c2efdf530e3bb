import { test } from "tap";
import { auditObjects } from "../../../../../shared/decisions/audit.ts";
import type { JsonObject } from "../../../../../shared/decisions/kubernetes/json.ts";
import { drain } from "../../../../../shared/decisions/paced.ts";
import { runChecks } from "../../../../../shared/decisions/checks/run.ts";
import { identityInventory, roleIdentity, staticIdentity } from "../../identities/objects.ts";
import { managedBy, secretMetadata } from "../../identities/secrets.ts";
import { SETTINGS_BY_DEFAULT } from "../../objects.ts";
import { type CapaInput, capaLines, testCases } from "../capa-lines.ts";

const SETTINGS = { identitySecretNamespace: "capa-system" } as const;
const IDENTITY = staticIdentity("s", { list: ["team-a"] });
const withKeys = (...keys: readonly string[]): JsonObject => secretMetadata([managedBy("kubectl-create", keys)]);
const manifest = (data: JsonObject): JsonObject => (
  { apiVersion: "v1", kind: "Secret", metadata: { name: "s-creds", namespace: "capa-system" }, data }
);
const STATIC_KEY = withKeys("AccessKeyID", "SecretAccessKey");
const SESSION = withKeys("AccessKeyID", "SecretAccessKey", "SessionToken");
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
  ["CI-10", "the names of the keys are unknown", secretMetadata([]), []],
  ["CI-10", "the Secret does not exist", null, []],
  ["CI-10b", "the Secret does not exist", null,
    [/^warn CI-10b spec\.secretRef: the Secret capa-system\/s-creds does not exist\. Create/]],
  ["CI-10b", "the names of the keys are unknown", secretMetadata([]), []],
  ["CI-10b", "the manifests are not complete", manifest({}), [], FILES],
  ["CI-10b", "complete manifests contain another Secret only",
    { ...manifest({}), metadata: { name: "other", namespace: "capa-system" } },
    [/^warn CI-10b .*does not exist/], { origin: "file", settings: { ...SETTINGS, isInputComplete: true } }],
  ["CI-12", "the Secret has no session token", STATIC_KEY,
    [/^warn CI-12 spec\.secretRef: the Secret capa-system\/s-creds has no SessionToken: .* never expires\. Use/]],
  ["CI-12", "the session token is empty", manifest({ AccessKeyID: "x", SecretAccessKey: "y", SessionToken: "" }),
    [/^warn CI-12/], FILES],
  ["CI-12", "the Secret has a session token", SESSION, []],
  ["CI-12", "the session token is in the wrong case", withKeys("AccessKeyID", "SecretAccessKey", "sessionToken"), []],
  ["CI-12", "the access key is missing", withKeys("AccessKeyID"), []],
  ["CI-12", "the Secret does not exist", null, []],
];

testCases(CASES.map(([id, when, secret, expected, rest = {}]) => (
  [id, when, IDENTITY, expected, { settings: SETTINGS, ...rest, objects: secret === null ? [] : [secret] }]
)));

test("CI-10 is waivable, and ignores other identities and names that are not valid", (t) => {
  const waived = { ...IDENTITY, metadata: { name: "s", annotations: { "ack-role-resolver.io/allow": "CI-10" } } };
  const options = { settings: SETTINGS, objects: [withKeys("accessKeyID", "SecretAccessKey")] };
  t.match(capaLines("CI-10", waived, options), [/^warn CI-10/]);
  for (const object of [roleIdentity("r"), staticIdentity("s", {}, "a/b"), staticIdentity("s", {}, null)]) {
    t.same(["CI-10", "CI-10b", "CI-12"].flatMap((id) => capaLines(id, object, options)), []);
  }
  t.end();
});

function skipped(
  settings: CapaInput["settings"], objects: readonly JsonObject[], origin: "file" | "cluster",
): string[] {
  const inventory = identityInventory(objects, { origin });
  const input = { object: IDENTITY, old: null, requester: null, origin, inventory };
  return runChecks(input, { ...SETTINGS_BY_DEFAULT, ...settings }).skipped
    .filter(({ code }) => ["CI-10", "CI-10b", "CI-12"].includes(code)).map(({ code, needs }) => `${code}: ${needs}`);
}

test("skips the checks of Secrets without --identity-secret-namespace, or without Secrets in this namespace", (t) => {
  const flag = "--identity-secret-namespace";
  t.same(skipped({}, [], "cluster"), [`CI-10: ${flag}`, `CI-10b: ${flag}`, `CI-12: ${flag}`]);
  t.same(skipped(SETTINGS, [], "cluster"), []);
  const elsewhere = { ...manifest({}), metadata: { name: "s-creds", namespace: "other" } };
  t.same(skipped(SETTINGS, [elsewhere], "file"),
    ["CI-10: secrets", "CI-10b: secrets, --complete or --cluster", "CI-12: secrets"]);
  t.same(skipped(SETTINGS, [manifest({})], "file"), ["CI-10b: --complete or --cluster"]);
  t.same(skipped({}, [manifest({})], "file")[0], `CI-10: ${flag}, secrets`);
  const inventory = identityInventory([]);
  inventory.apply([{ type: "unlisted", collection: "secrets", item: "Secrets" }]);
  const input = { object: IDENTITY, old: null, requester: null, origin: "cluster", inventory } as const;
  t.ok(runChecks(input, { ...SETTINGS_BY_DEFAULT, ...SETTINGS }).skipped.some(({ code }) => code === "CI-10b"),
    "an unlisted collection is never treated as empty");
  t.end();
});

const DAY_MS = 86_400_000;

function ageLines(secret: JsonObject, ageMs: number, identity = IDENTITY): string[] {
  const inventory = identityInventory([identity, secret]);
  const nowMs = Date.parse("2026-01-01T00:00:00Z") + ageMs;
  const settings = { ...SETTINGS_BY_DEFAULT, ...SETTINGS };
  const { findings } = drain(auditObjects({ objects: [identity], inventory, origin: "cluster", nowMs }, settings));
  return findings.filter(({ code }) => code === "AUD-11").map(({ severity, message }) => `${severity} ${message}`);
}

test("AUD-11 reports an access key that is older than 90 days, in days", (t) => {
  const text = "warn the access key in the Secret capa-system/s-creds is older than 90 days: it was written";
  t.same(ageLines(STATIC_KEY, 90 * DAY_MS), []);
  t.same(ageLines(STATIC_KEY, 90 * DAY_MS + 1), [`${text} 90 days ago`]);
  t.same(ageLines(STATIC_KEY, 123 * DAY_MS + 5), [`${text} 123 days ago`]);
  const unmanaged = secretMetadata([], { creationTimestamp: "2026-01-01T00:00:00Z" });
  t.same(ageLines(unmanaged, 91 * DAY_MS), [`${text} 91 days ago`]);
  t.same(ageLines(secretMetadata([]), 91 * DAY_MS), [], "the time is unknown");
  t.same(ageLines(STATIC_KEY, 91 * DAY_MS, roleIdentity("r")), []);
  t.same(ageLines({ ...STATIC_KEY, metadata: { name: "other", namespace: "capa-system" } }, 91 * DAY_MS), []);
  t.end();
});
