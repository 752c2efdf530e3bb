import jsonPatch, { type Operation } from "fast-json-patch";
import { test } from "tap";
import { RESOLUTION_KEYS } from "../../../../shared/decisions/annotation-keys.ts";
import { type JsonObject, jsonPointer } from "../../../../shared/decisions/kubernetes/json.ts";
import { annotationPatch } from "../../../../shared/decisions/resolution/annotations.ts";
import type { Resolution } from "../../../../shared/decisions/resolution/resolve.ts";
import { bucketObject, ROLE } from "../objects.ts";

const PREFIX = "ack-role-resolver.io/";
const POINTER = "/metadata/annotations/ack-role-resolver.io~1";
const SELECTED: Resolution = {
  outcome: "selected", via: "selector", selectors: [{ name: "team-a", resourceVersion: "41", roleARN: ROLE }], roleARN: ROLE, accountID: "111122223333",
  region: null, code: null, message: "IAMRoleSelector team-a selects it.",
};
const DEFAULT: Resolution = { ...SELECTED, outcome: "default", via: null, selectors: [], roleARN: null, accountID: null, message: "None." };
const SAID = {
  [`${PREFIX}outcome`]: "selected", [`${PREFIX}via`]: "selector", [`${PREFIX}selector`]: "team-a", [`${PREFIX}selector-resource-version`]: "41",
  [`${PREFIX}role-arn`]: ROLE, [`${PREFIX}reason`]: "IAMRoleSelector team-a selects it.",
};

function conflictOf(count: number, message = "Conflict."): Resolution {
  const selectors = Array.from({ length: count }, (_, i) => ({ name: `s${String(i).padStart(2, "0")}`, resourceVersion: null, roleARN: ROLE }));
  return { ...DEFAULT, outcome: "conflict", selectors, code: "ERR_SELECTOR_CONFLICT", message };
}

function patched(object: JsonObject, resolution: Resolution): JsonObject {
  const patch: Operation[] = annotationPatch(object, resolution).patch.map((operation) => ({ ...operation }));
  return jsonPatch.applyPatch(structuredClone(object), patch, true).newDocument;
}

const annotationsOf = (object: JsonObject): unknown => Object.entries(object["metadata"] ?? {}).find(([key]) => key === "annotations")?.[1];

test("annotations that are not there, null or empty are made, with nothing but what is said", (t) => {
  t.same(annotationPatch(bucketObject(), SELECTED), { patch: [{ op: "add", path: "/metadata/annotations", value: SAID }], tooLarge: false });
  t.same(annotationPatch(bucketObject({ annotations: null }), SELECTED).patch, [{ op: "add", path: "/metadata/annotations", value: SAID }]);
  t.same(annotationPatch({ kind: "Bucket" }, DEFAULT).patch, [{ op: "add", path: "/metadata", value: { annotations: { [`${PREFIX}outcome`]: "default", [`${PREFIX}reason`]: "None." } } }]);
  t.same(annotationPatch({ kind: "Bucket", metadata: null }, DEFAULT).patch[0]?.path, "/metadata");
  const { patch } = annotationPatch(bucketObject({ annotations: {} }), SELECTED);
  t.same(patch.map(({ op, path }) => [op, path]), ["outcome", "via", "selector", "selector-resource-version", "role-arn", "reason"].map((key) => ["add", POINTER + key]), "escaped, one operation a key");
  for (const metadata of [{}, { annotations: null }, { annotations: {} }]) t.same(annotationsOf(patched(bucketObject(metadata), SELECTED)), SAID);
  t.end();
});

test("the patch touches only what differs: forged values are overwritten, what no longer holds goes, others' annotations stay", (t) => {
  const annotations = { ...SAID, "example.com/note": "kept", [`${PREFIX}role-arn`]: "arn:aws:iam::999999999999:role/forged", [`${PREFIX}conflicting-selectors`]: "a,b", [`${PREFIX}outcome`]: 5, [`${PREFIX}other`]: "kept" };
  t.same(annotationPatch(bucketObject({ annotations }), SELECTED).patch, [
    { op: "replace", path: `${POINTER}outcome`, value: "selected" },
    { op: "replace", path: `${POINTER}role-arn`, value: ROLE },
    { op: "remove", path: `${POINTER}conflicting-selectors` },
  ]);
  t.same(annotationsOf(patched(bucketObject({ annotations }), SELECTED)), { ...SAID, "example.com/note": "kept", [`${PREFIX}other`]: "kept" });
  t.same(annotationsOf(patched(bucketObject({ annotations: SAID }), DEFAULT)), { [`${PREFIX}outcome`]: "default", [`${PREFIX}reason`]: "None." });
  t.end();
});

test("the same object answered twice gets no second patch, whatever was said", (t) => {
  for (const resolution of [SELECTED, DEFAULT, conflictOf(12), { ...DEFAULT, message: `${"x".repeat(255)}😀` }, { ...DEFAULT, message: "\ud83d" }]) {
    // As it comes back: Go reads half a surrogate pair as U+FFFD.
    const stored = patched(bucketObject(), { ...resolution, message: resolution.message.slice(0, 256).toWellFormed() });
    t.same(annotationPatch(stored, resolution), { patch: [], tooLarge: false }, resolution.message);
  }
  t.end();
});

test("of a conflict the first ten names are said and how many more there are; of the reason 256 characters", (t) => {
  const said = (resolution: Resolution): readonly [unknown, unknown] => {
    const all = new Map(Object.entries(annotationsOf(patched(bucketObject(), resolution)) ?? {}));
    return [all.get(`${PREFIX}conflicting-selectors`), all.get(`${PREFIX}reason`)];
  };
  const ten = "s00,s01,s02,s03,s04,s05,s06,s07,s08,s09";
  t.same(said(conflictOf(10)), [ten, "Conflict."]);
  t.same(said(conflictOf(11)), [`${ten},+1`, "Conflict."]);
  t.same(said(conflictOf(112))[0], `${ten},+102`);
  t.same(said({ ...DEFAULT, message: "m".repeat(256) }), [undefined, "m".repeat(256)]);
  t.same(said({ ...DEFAULT, message: "m".repeat(257) }), [undefined, "m".repeat(256)]);
  t.end();
});

test("all together they take at most 4 KiB, in bytes", (t) => {
  const bytes = (resolution: Resolution): number => Object.entries(annotationsOf(patched(bucketObject(), resolution)) ?? {}).flat().reduce((sum, text) => sum + Buffer.byteLength(String(text)), 0);
  const name = "n".repeat(253);
  const longest = (roleARN: string): Resolution => ({ ...SELECTED, selectors: [{ name, resourceVersion: "9".repeat(20), roleARN }], roleARN, message: "€".repeat(300) });
  t.ok(bytes(longest("a".repeat(2048))) <= 4096);
  t.ok(bytes({ ...conflictOf(0, "€".repeat(300)), selectors: Array.from({ length: 50 }, () => ({ name, resourceVersion: null, roleARN: ROLE })) }) <= 4096);
  t.equal(annotationPatch(bucketObject({ annotations: {} }), longest("a".repeat(2048))).patch.length, 6);
  t.equal(annotationPatch(bucketObject({ annotations: {} }), longest("€".repeat(683))).patch.length, 5, "2,049 bytes of ARN are left out");
  t.end();
});

test("where the object would pass 256 KiB of annotations there is no patch, and it says so", (t) => {
  const sizeOfSaid = Object.entries(SAID).flat().join("").length;
  const room = 256 * 1024 - sizeOfSaid - "k".length;
  for (const [filler, unit] of [["x", 1], ["é", 2], ["€", 3], ["😀", 4]] as const) {
    const text = filler.repeat(Math.floor(room / unit)) + "x".repeat(room % unit);
    t.equal(annotationPatch(bucketObject({ annotations: { k: text } }), SELECTED).patch.length, 6, `${filler}: to the byte`);
    t.same(annotationPatch(bucketObject({ annotations: { k: `${text}x` } }), SELECTED), { patch: [], tooLarge: true }, `${filler}: one byte more`);
  }
  const full = { k: "x".repeat(room), [`${PREFIX}conflicting-selectors`]: "y".repeat(1000) };
  t.equal(annotationPatch(bucketObject({ annotations: full }), SELECTED).tooLarge, false, "what goes does not count");
  t.same(annotationPatch(bucketObject({ annotations: { ...SAID, k: "x".repeat(300_000) } }), SELECTED), { patch: [], tooLarge: false }, "nothing to add, nothing to refuse");
  t.end();
});

test("a pointer escapes what RFC 6901 says", (t) => {
  t.equal(jsonPointer("a", 0, "b/c~d"), "/a/0/b~1c~0d");
  t.same(RESOLUTION_KEYS.length, 7);
  t.end();
});
