import type { Resolution } from "../../../shared/core/resolution.ts";
import jsonPatch, { type Operation } from "fast-json-patch";
import { test } from "tap";
import { RESOLUTION_KEYS } from "../../../shared/core/annotation-keys.ts";
import { type JsonObject, jsonPointer } from "../../../shared/formats/json.ts";
import {
  annotationPatch, MAX_CHAIN_LENGTH, resolutionAnnotations, staleAnnotations,
} from "../../../shared/core/resolution-annotations.ts";
import { readReferrer } from "../../../shared/capa/referrer.ts";
import { resolveReferrer } from "../../../shared/capa/resolve-identity.ts";
import { clusterObject, controllerIdentity, roleARN as arnOf, roleIdentity } from "../capa-objects.ts";
import { bucketObject, inventoryWith, namespaceObject, ROLE } from "../objects.ts";

const PREFIX = "ack-role-resolver.io/";
const POINTER = "/metadata/annotations/ack-role-resolver.io~1";
const SELECTED: Resolution = {
  outcome: "selected", via: "selector", selectors: [{ name: "team-a", resourceVersion: "41", roleARN: ROLE }],
  roleARN: ROLE, accountID: "111122223333", region: null, code: null,
  message: "IAMRoleSelector team-a selects the resource.",
};
const DEFAULT: Resolution = {
  ...SELECTED, outcome: "default", via: null, selectors: [], roleARN: null, accountID: null, message: "None.",
};
const BY_DEFAULT = { [`${PREFIX}outcome`]: "default", [`${PREFIX}reason`]: "None." };
const ANNOTATIONS = {
  [`${PREFIX}outcome`]: "selected",
  [`${PREFIX}via`]: "selector",
  [`${PREFIX}selector`]: "team-a",
  [`${PREFIX}selector-resource-version`]: "41",
  [`${PREFIX}role-arn`]: ROLE,
  [`${PREFIX}reason`]: "IAMRoleSelector team-a selects the resource.",
};

function conflictOf(count: number, message = "Conflict."): Resolution {
  const selectors = Array.from({ length: count }, (_, i) => ({
    name: `s${String(i).padStart(2, "0")}`,
    resourceVersion: null,
    roleARN: ROLE,
  }));
  return { ...DEFAULT, outcome: "conflict", selectors, code: "ERR_SELECTOR_CONFLICT", message };
}

function patchFor(object: JsonObject, resolution: Resolution): ReturnType<typeof annotationPatch> {
  return annotationPatch(object, resolutionAnnotations(resolution));
}

function patched(object: JsonObject, resolution: Resolution): JsonObject {
  const patch: Operation[] = patchFor(object, resolution).patch.map((operation) => ({ ...operation }));
  return jsonPatch.applyPatch(structuredClone(object), patch, true).newDocument;
}

const annotationsOf = (object: JsonObject): unknown =>
  Object.entries(object["metadata"] ?? {}).find(([key]) => key === "annotations")?.[1];

test("adds the resolution annotations if metadata.annotations is missing, null or empty", (t) => {
  const added = { patch: [{ op: "add", path: "/metadata/annotations", value: ANNOTATIONS }], tooLarge: false };
  t.same(patchFor(bucketObject(), SELECTED), added);
  t.same(patchFor(bucketObject({ annotations: null }), SELECTED), added);
  for (const object of [{ kind: "Bucket" }, { kind: "Bucket", metadata: null }])
    t.same(patchFor(object, DEFAULT).patch, [
      { op: "add", path: "/metadata", value: { annotations: BY_DEFAULT } },
    ]);
  const { patch } = patchFor(bucketObject({ annotations: {} }), SELECTED);
  const keys = ["outcome", "via", "selector", "selector-resource-version", "role-arn", "reason"];
  t.same(patch.map(({ op, path }) => `${op} ${path}`), keys.map((key) => `add ${POINTER}${key}`), "escaped keys");
  t.same(annotationsOf(patched(bucketObject({ annotations: {} }), SELECTED)), ANNOTATIONS);
  t.end();
});

test("overwrites forged values, removes stale keys and preserves other annotations", (t) => {
  const others = { "example.com/note": "kept", [`${PREFIX}other`]: "kept" };
  const annotations = {
    ...ANNOTATIONS, ...others,
    [`${PREFIX}role-arn`]: "arn:aws:iam::999999999999:role/forged",
    [`${PREFIX}conflicting-selectors`]: "a,b",
    [`${PREFIX}outcome`]: 5,
  };
  t.same(patchFor(bucketObject({ annotations }), SELECTED).patch, [
    { op: "replace", path: `${POINTER}outcome`, value: "selected" },
    { op: "replace", path: `${POINTER}role-arn`, value: ROLE },
    { op: "remove", path: `${POINTER}conflicting-selectors` },
  ]);
  t.same(annotationsOf(patched(bucketObject({ annotations }), SELECTED)), { ...ANNOTATIONS, ...others });
  t.same(annotationsOf(patched(bucketObject({ annotations: ANNOTATIONS }), DEFAULT)), BY_DEFAULT);
  t.end();
});

test("returns an empty patch if the object already has the resolution annotations", (t) => {
  const messages = [`${"x".repeat(255)}😀`, "\ud83d"].map((message) => ({ ...DEFAULT, message }));
  for (const resolution of [SELECTED, DEFAULT, conflictOf(12), ...messages]) {
    // If a surrogate pair is cut in half, the API server stores U+FFFD.
    const stored = patched(bucketObject(), { ...resolution, message: resolution.message.slice(0, 256).toWellFormed() });
    t.same(patchFor(stored, resolution), { patch: [], tooLarge: false }, resolution.message);
  }
  t.end();
});

test("records at most ten selector names of a conflict and 256 characters of the reason", (t) => {
  const recorded = (key: string, resolution: Resolution): unknown =>
    new Map(Object.entries(annotationsOf(patched(bucketObject(), resolution)) ?? {})).get(`${PREFIX}${key}`);
  const ten = "s00,s01,s02,s03,s04,s05,s06,s07,s08,s09";
  t.equal(recorded("conflicting-selectors", conflictOf(10)), ten);
  t.equal(recorded("conflicting-selectors", conflictOf(11)), `${ten},+1`);
  t.equal(recorded("conflicting-selectors", conflictOf(112)), `${ten},+102`);
  for (const length of [256, 257])
    t.equal(recorded("reason", { ...DEFAULT, message: "m".repeat(length) }), "m".repeat(256));
  t.end();
});

test("records at most 4 KiB of annotation keys and values", (t) => {
  const bytes = (resolution: Resolution): number =>
    Buffer.byteLength(Object.entries(annotationsOf(patched(bucketObject(), resolution)) ?? {}).flat().join(""));
  const [name, message] = ["n".repeat(253), "€".repeat(300)];
  const longest = (roleARN: string): Resolution =>
    ({ ...SELECTED, selectors: [{ name, resourceVersion: "9".repeat(20), roleARN }], roleARN, message });
  const selectors = Array.from({ length: 50 }, () => ({ name, resourceVersion: null, roleARN: ROLE }));
  t.ok(bytes(longest("a".repeat(2048))) <= 4096);
  t.ok(bytes({ ...conflictOf(0, message), selectors }) <= 4096);
  const keys = (roleARN: string): number =>
    patchFor(bucketObject({ annotations: {} }), longest(roleARN)).patch.length;
  t.equal(keys("a".repeat(2048)), 6);
  t.equal(keys("€".repeat(683)), 5, "a role ARN of 2,049 bytes is omitted");
  t.end();
});

test("returns no patch if the patched object would exceed 256 KiB of annotations", (t) => {
  const patchOf = (annotations: JsonObject): ReturnType<typeof patchFor> =>
    patchFor(bucketObject({ annotations }), SELECTED);
  const room = 256 * 1024 - Object.entries(ANNOTATIONS).flat().join("").length - "k".length;
  for (const [filler, unit] of [["x", 1], ["é", 2], ["€", 3], ["😀", 4]] as const) {
    const k = filler.repeat(Math.floor(room / unit)) + "x".repeat(room % unit);
    t.equal(patchOf({ k }).patch.length, 6, `${filler}: exactly 256 KiB`);
    t.same(patchOf({ k: `${k}x` }), { patch: [], tooLarge: true }, `${filler}: 256 KiB and one byte`);
  }
  const full = { k: "x".repeat(room), [`${PREFIX}conflicting-selectors`]: "y".repeat(1000) };
  t.equal(patchOf(full).tooLarge, false, "removed keys do not count");
  t.same(patchOf({ ...ANNOTATIONS, k: "x".repeat(300_000) }), { patch: [], tooLarge: false }, "nothing is added");
  t.end();
});

test("ignores an annotation whose value is a deeply nested list", (t) => {
  const deep: unknown = JSON.parse("[".repeat(5_000) + "]".repeat(5_000));
  const object = { ...bucketObject(), metadata: { name: "b", namespace: "team-a", annotations: { k: deep } } };
  t.match(patchFor(object, SELECTED), { patch: { length: 6 }, tooLarge: false });
  t.end();
});

test("escapes JSON pointers as RFC 6901 requires", (t) => {
  t.equal(jsonPointer("a", 0, "b/c~d"), "/a/0/b~1c~0d");
  t.same(RESOLUTION_KEYS.length, 8);
  t.end();
});

test("staleAnnotations returns the correct values of wrong and missing keys, and null for keys to remove", (t) => {
  const annotations = (changes: Readonly<Record<string, string>>): ReadonlyMap<string, string> => (
    new Map(Object.entries({ ...ANNOTATIONS, ...changes }))
  );
  t.same(staleAnnotations(annotations({}), SELECTED), new Map());
  t.same(staleAnnotations(new Map(), SELECTED), new Map(Object.entries(ANNOTATIONS)));
  t.same(
    staleAnnotations(annotations({ [`${PREFIX}role-arn`]: "x", [`${PREFIX}conflicting-selectors`]: "a,b" }), SELECTED),
    new Map([[`${PREFIX}role-arn`, ROLE], [`${PREFIX}conflicting-selectors`, null]]),
  );
  t.end();
});

test("staleAnnotations ignores an old resource version of the selector, unless another annotation is stale", (t) => {
  const old = new Map(Object.entries({ ...ANNOTATIONS, [`${PREFIX}selector-resource-version`]: "40" }));
  t.same(staleAnnotations(old, SELECTED), new Map());
  const moved = staleAnnotations(new Map([...old, [`${PREFIX}role-arn`, "x"]]), SELECTED);
  t.equal(moved.get(`${PREFIX}selector-resource-version`), "41");
  t.equal(moved.size, 2);
  const forged = new Map(Object.entries(ANNOTATIONS).filter(([key]) => !key.includes("selector")));
  const byDefault = new Map(Object.entries(BY_DEFAULT));
  t.same(staleAnnotations(byDefault, DEFAULT), new Map());
  byDefault.set(`${PREFIX}selector-resource-version`, "1");
  t.same(staleAnnotations(byDefault, DEFAULT), new Map([[`${PREFIX}selector-resource-version`, null]]));
  t.ok(staleAnnotations(forged, SELECTED).has(`${PREFIX}selector`));
  t.end();
});

/** Returns the annotations of a cluster whose identityRef names the identity. */
function clusterAnnotations(reference: string | null, identities: readonly JsonObject[]): ReadonlyMap<string, string> {
  const inventory = inventoryWith([namespaceObject("ns1"), ...identities]);
  const referrer = readReferrer(clusterObject("c", reference));
  if (referrer === null) throw new Error("not a cluster");
  return resolutionAnnotations(resolveReferrer(inventory, referrer, { region: null }));
}

test("the annotations of a cluster name each identity of its chain", (t) => {
  const identities = [controllerIdentity(), roleIdentity("workload", "role/hub"), roleIdentity("hub")];
  t.same(Object.fromEntries(clusterAnnotations("role/workload", identities)), {
    [`${PREFIX}outcome`]: "selected",
    [`${PREFIX}via`]: "identity",
    [`${PREFIX}role-arn`]: arnOf("workload"),
    [`${PREFIX}identity-chain`]: "AWSClusterRoleIdentity/workload,AWSClusterRoleIdentity/hub,"
      + "AWSClusterControllerIdentity/default",
    [`${PREFIX}reason`]: 'AWSClusterRoleIdentity "workload" provides the credentials, with the credentials of '
      + 'AWSClusterRoleIdentity "hub", AWSClusterControllerIdentity "default".',
  });
  const byDefault = clusterAnnotations(null, identities);
  t.equal(byDefault.get(`${PREFIX}identity-chain`), "AWSClusterControllerIdentity/default");
  t.equal(byDefault.get(`${PREFIX}outcome`), "default");
  t.end();
});

test("the annotation of a chain is bounded, and omits a reference that no identity can have", (t) => {
  const name = (i: number): string => `r${i}${".long-name-of-an-identity".repeat(10)}`;
  const names = Array.from({ length: 12 }, (_, i) => name(i));
  const cycle = names.map((own, i) => roleIdentity(own, `role/${names[(i + 1) % 12]}`));
  const long = clusterAnnotations(`role/${name(0)}`, cycle);
  t.equal(long.get(`${PREFIX}outcome`), "refused");
  const chain = long.get(`${PREFIX}identity-chain`) ?? "";
  t.equal(chain.split(",").length, 9);
  t.ok(chain.length <= MAX_CHAIN_LENGTH && MAX_CHAIN_LENGTH < 3_000);
  for (const reference of ["role/a,b", "role/A", "Secret/a", `role/${"x".repeat(100_000)}`, "role/"]) {
    const annotations = clusterAnnotations(reference, []);
    t.equal(annotations.get(`${PREFIX}outcome`), "refused");
    t.equal(annotations.has(`${PREFIX}identity-chain`), false, reference.slice(0, 20));
  }
  const last = clusterAnnotations("role/a", [roleIdentity("a", "role/X")]);
  t.equal(last.get(`${PREFIX}identity-chain`), "AWSClusterRoleIdentity/a");
  t.end();
});
