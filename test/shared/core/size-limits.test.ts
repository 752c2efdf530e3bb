import { CHECK_IDS, runChecks } from "../../../shared/judges.ts";
import { test } from "tap";
import { type CheckInput, findingLine } from "../../../shared/core/check.ts";
import { judgeSelector } from "../../../shared/ack/judge-selector.ts";
import type { CheckResult } from "../../../shared/core/run.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { LIMITS } from "../../../shared/core/limits.ts";
import { bucketObject, inventoryWith, namespaceObject, ROLE, selectorObject, SETTINGS_BY_DEFAULT } from "../objects.ts";

const SPLIT = "Split the selector into several selectors, or select by label instead of by name.";
const CONTEXT = { origin: "cluster", runtime: "ack" } as const;

function check(object: JsonObject, input: Partial<CheckInput> = {}): CheckResult {
  const objects = [selectorObject("other", { arn: ROLE }), namespaceObject("team-a"), bucketObject()];
  const inventory = inventoryWith(objects, CONTEXT);
  return runChecks({ object, old: null, requester: null, origin: "cluster", inventory, ...input }, SETTINGS_BY_DEFAULT);
}

const many = <Item>(length: number, item: (i: number) => Item): Item[] => Array.from({ length }, (_, i) => item(i));
const labels = (length: number): object => ({ matchLabels: Object.fromEntries(many(length, (i) => [`k${i}`, "v"])) });

test("IRS-48 denies a selector that exceeds a limit, and no other check reports a fault", (t) => {
  const cases: readonly (readonly [spec: object, line: string])[] = [
    [
      { namespaceSelector: { names: many(1001, (i) => `team-${i}`) } },
      "spec.namespaceSelector.names: 1001 entries exceed the limit of 1000",
    ],
    [
      { resourceTypeSelector: many(1001, (i) => ({ kind: `K${i}` })) },
      "spec.resourceTypeSelector: 1001 entries exceed the limit of 1000",
    ],
    [
      { resourceLabelSelector: labels(101) },
      "spec.resourceLabelSelector.matchLabels: 101 entries exceed the limit of 100",
    ],
    [
      { namespaceSelector: { labelSelector: labels(101) } },
      "spec.namespaceSelector.labelSelector.matchLabels: 101 entries exceed the limit of 100",
    ],
    [{ unknown: many(20_001, (i) => i) }, ": the object has more than 20000 values"],
  ];
  for (const [spec, line] of cases) {
    const { findings, denied } = check(selectorObject("a", { arn: "not-an-arn", ...spec }));
    t.same(findings.map(findingLine), [`IRS-48 ${line}. ${SPLIT}`]);
    t.equal(denied, true);
  }
  const metadata = {
    annotations: { "ack-role-resolver.io/session-tags": "x".repeat(32_769), "other/key": "x".repeat(40_000) },
  };
  t.same(check(selectorObject("a", { arn: ROLE }, metadata)).findings.map(findingLine), [
    "IRS-48 metadata.annotations[ack-role-resolver.io/session-tags]: "
      + `32769 characters exceed the limit of 32768. ${SPLIT}`,
  ]);
  t.end();
});

test("a selector that exceeds a limit stays effective, but the sidecar does not grant its role", (t) => {
  const object = selectorObject("a", { arn: ROLE, namespaceSelector: { names: many(1001, (i) => `team-${i}`) } });
  t.match(judgeSelector(object, CONTEXT).effective, { grantable: false });
  t.equal(judgeSelector(object, { ...CONTEXT, runtime: "extended" }).effective, null);
  t.end();
});

test("the limit checks also deny an existing fault, even with a waiver or --check ID=off", (t) => {
  const waiver = { annotations: { "ack-role-resolver.io/allow": "IRS-48" } };
  const object = selectorObject(
    "a",
    { arn: ROLE, namespaceSelector: { names: many(1001, (i) => `team-${i}`) } },
    waiver,
  );
  t.equal(check(object, { old: object }).denied, true);
  for (const id of ["IRS-48", "ACK-35", "NS-14", "CM-14"]) t.notOk(CHECK_IDS.has(id), id);
  const settings = { ...SETTINGS_BY_DEFAULT, checkSeverities: new Map([["IRS-48", "off" as const]]) };
  t.equal(runChecks({ object, old: null, requester: null, origin: "cluster" }, settings).denied, true);
  t.end();
});

test("ACK-35, NS-14 and CM-14 deny an object that exceeds a limit, but allow its deletion", (t) => {
  let deep: unknown = {};
  for (let i = 0; i < 4_000; i++) deep = [deep];
  const carmMap = {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "ack-role-account-map", namespace: "ack-system" },
  };
  const objects: readonly (readonly [code: string, object: JsonObject])[] = [
    ["ACK-35", { ...bucketObject(), spec: deep }],
    ["NS-14", { ...namespaceObject("team-a"), spec: deep }],
    ["CM-14", { ...carmMap, data: Object.fromEntries(many(100_001, (i) => [`k${i}`, "v"])) }],
  ];
  for (const [code, object] of objects) {
    const { findings, denied } = check(object);
    t.same(findings.map((finding) => finding.code), [code]);
    t.equal(denied, true);
    t.notOk(check(object, { operation: "DELETE" }).findings.some((finding) => finding.code === code));
  }
  t.end();
});

test("no limit counts managedFields, to which each user who may patch the object adds", (t) => {
  let deep: unknown = {};
  for (let i = 0; i < 200; i++) deep = { "f:a": deep };
  const entry = { manager: "kubectl", fieldsV1: { deep, ...Object.fromEntries(many(700, (i) => [`f:${i}`, {}])) } };
  const metadata = { managedFields: many(60, () => entry) };
  for (const object of [
    selectorObject("a", { arn: ROLE, namespaceSelector: { names: ["team-a"] } }, metadata), bucketObject(metadata),
    { ...namespaceObject("team-b"), metadata: { name: "team-b", ...metadata } },
  ]) t.notOk(check(object).findings.some(({ code }) => !CHECK_IDS.has(code)), String(object["kind"]));
  t.end();
});

test("reports at most 20 faults per check and 100 per object, denials first, and counts the rest", (t) => {
  const names = many(500, (i) => `Team-${i}`);
  const { findings, denied } = check(selectorObject("a", { arn: ROLE, namespaceSelector: { names } }), {
    inventory: null,
  });
  const malformed = findings.filter(({ code }) => code === "IRS-09");
  t.equal(malformed.length, LIMITS.faultsPerCheck.value + 1);
  t.ok(
    malformed.some(({ message, severity }) => message === "and 480 more faults of this check" && severity === "deny"),
  );
  t.equal(denied, true);
  const faulty = selectorObject(
    "A b",
    {
      arn: "x",
      namespaceSelector: { names: [...names, ...names.slice(0, 30)] },
      unknown1: 1,
      resourceTypeSelector: many(100, () => ({ kind: "Bucket", apiVersion: "x" })),
      resourceLabelSelector: {
        matchLabels: Object.fromEntries(many(60, (i) => [`k ${i}`, "v v"])),
        matchExpressions: [{}],
      },
      ...Object.fromEntries(many(40, (i) => [`field${i}`, i])),
    },
    { annotations: { "ack-role-resolver.io/session-tags": many(200, (i) => `aws:${i}`).join() } },
  );
  const all = check(faulty, { inventory: null });
  t.equal(all.findings.length, LIMITS.faultsPerObject.value + 1);
  t.match(all.findings.at(-1)?.message, /^and \d+ more faults of this object$/);
  t.end();
});

test("limits the faults of an annotation that has 125,000 entries", (t) => {
  const list = many(125_000, () => "x").join();
  const object = bucketObject({ annotations: { "services.k8s.aws/ignore-field-drift": list } });
  const lines = check(object, { old: bucketObject() })
    .findings.filter(({ code }) => code === "ACK-20")
    .map(findingLine);
  t.match(lines[0], /125000 paths exceed the limit of 100/);
  t.equal(lines.length, LIMITS.faultsPerCheck.value + 1);
  t.end();
});
