import { test } from "tap";
import { checkSeveritiesOf } from "../../../shared/core/context.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { adoptedBucket } from "../../fixtures/ack-adopted-resource-crd.ts";
import { ADMIN, kindObject, selectorObject } from "../objects.ts";
import { checkChange, type Circumstances, linesOf } from "../core/findings.ts";
import { CLUSTER_OBJECTS, GOLD, JANE } from "./resource-lines.ts";

const ALLOW = "ack-role-resolver.io/allow";
const OTHER = adoptedBucket({ namespace: "team-b" });
const MESSAGE = 'ACK-41 spec.kubernetes.metadata.namespace: for the AdoptedResource in namespace "team-a", the '
  + 'controller would create the "Bucket" in namespace "team-b". Create the AdoptedResource in the namespace of the '
  + "resource.";

function withTarget(kubernetes: unknown): JsonObject {
  return { ...adoptedBucket(), spec: { aws: {}, kubernetes } };
}

/** Returns the codes of the findings, of which those that deny end in `!`. */
function codes(object: JsonObject, circumstances: Circumstances = {}): string[] {
  const { findings } = checkChange(object, { known: CLUSTER_OBJECTS, requester: JANE, ...circumstances });
  return findings.map(({ code, severity }) => `${code}${severity === "deny" ? "!" : ""}`);
}

test("ACK-41 denies an AdoptedResource whose resource would be created in another namespace", (t) => {
  t.same(linesOf("ACK-41", OTHER), [`deny ${MESSAGE}`]);
  const observed = { settings: { checkSeverities: checkSeveritiesOf([], "observe") } };
  t.same(linesOf("ACK-41", OTHER, observed), [`warn ${MESSAGE}`]);
  t.same(linesOf("ACK-41", OTHER, { operation: "AUDIT", old: OTHER }), [`deny ${MESSAGE}`], "a stored one");
  t.match(linesOf("ACK-41", withTarget({ metadata: { namespace: "b" } })), ["create the resource in namespace \"b\""]);
  const own: readonly unknown[] = [
    { metadata: { namespace: "team-a" } }, { metadata: { namespace: "" } }, { metadata: {} }, {}, null, "x",
    { metadata: "x" }, { metadata: { namespace: 1 } },
  ];
  for (const target of own) t.same(linesOf("ACK-41", withTarget(target)), [], JSON.stringify(target));
  t.end();
});

test("ACK-41 only warns if the spec stays the same, and only a waiver user can waive it", (t) => {
  const labels = { labels: { a: "b" } };
  t.same(linesOf("ACK-41", adoptedBucket({ namespace: "team-b" }, labels), { old: OTHER }), [`warn ${MESSAGE}`]);
  const changed = adoptedBucket({ namespace: "team-b", name: "other" });
  t.match(linesOf("ACK-41", changed, { old: OTHER }), [/^deny /]);
  const waived = adoptedBucket({ namespace: "team-b" }, { annotations: { [ALLOW]: "ACK-41" } });
  t.match(linesOf("ACK-41", waived, { requester: ADMIN }), [/^warn \(waived\) /]);
  t.match(linesOf("ACK-41", waived, { requester: JANE }), [/^deny .*the waiver is ignored/]);
  t.end();
});

test("finds many faults of the created resource in several steps, with their paths in the AdoptedResource", (t) => {
  const labels = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`a${i}`, "not valid"]));
  const lines = linesOf("META-01", adoptedBucket({ labels }));
  t.ok(lines.length > 1);
  t.ok(lines.every((line) => line.startsWith("deny META-01 spec.kubernetes.metadata.labels[")));
  const relabeled = adoptedBucket({ labels }, { labels: { a: "b" } });
  const stored = linesOf("META-01", relabeled, { old: adoptedBucket({ labels }) });
  t.ok(stored.every((line) => line.startsWith("warn ")), "stored faults");
  t.end();
});

const REQUIRED: JsonObject = {
  apiVersion: "v1", kind: "Namespace",
  metadata: { name: "team-a", annotations: { "ack-role-resolver.io/selector-required": "true" } },
};

test("the checks of resources apply to the resource that an AdoptedResource creates", (t) => {
  const gold = { labels: { gold: "yes" } };
  t.same(codes(adoptedBucket(gold)), []);
  t.same(codes(adoptedBucket()), ["ACK-05"], "the controllers' own role");
  t.same(codes(adoptedBucket(), { known: [...CLUSTER_OBJECTS.slice(1), REQUIRED] }), ["ACK-05b!"]);
  t.same(codes(adoptedBucket({ labels: { gold: "yes", silver: "yes" } })), ["ACK-03"]);
  t.same(codes(adoptedBucket({ ...gold, annotations: { "services.k8s.aws/region": "eu" } })), ["ACK-10!"]);
  const region = linesOf("ACK-10", adoptedBucket({ annotations: { "services.k8s.aws/region": "eu" } }));
  t.match(region, ["ACK-10 spec.kubernetes.metadata.annotations[services.k8s.aws/region]: "]);
  t.same(codes(adoptedBucket({ ...gold, name: "A_B" })), ["META-01!"]);
  t.same(codes(withTarget({ group: "example.com", kind: "Bucket" })), [], "no ACK controller has the kind");
  t.same(codes(withTarget({ group: "s3.services.k8s.aws" })), [], "the API server rejects it");
  t.end();
});

test("a tenant can plant no waiver in the resource that an AdoptedResource creates", (t) => {
  const planted = adoptedBucket({ labels: { gold: "yes" }, annotations: { [ALLOW]: "ACK-30" } });
  t.same(codes(planted), ["WAIVER-01!"]);
  t.same(codes(planted, { requester: ADMIN }), []);
  const labeled = { ...planted, metadata: { name: "adopted", namespace: "team-a", labels: { a: "b" } } };
  t.same(codes(labeled, { old: planted }), [], "a stored one");
  const known = [...CLUSTER_OBJECTS.slice(1), REQUIRED];
  const waiving = adoptedBucket({}, { annotations: { [ALLOW]: "ACK-03" } });
  t.same(codes(waiving, { known, requester: ADMIN }), ["ACK-05b!"]);
  t.end();
});

const USE = new Map([["gold", "denied"]] as const);
const DENYING = { settings: { checkSeverities: new Map([["ACK-09", "deny"]] as const) }, access: USE };

test("ACK-09 requires the verb use on the selector of the created resource, also if the spec stays the same", (t) => {
  const gold = adoptedBucket({ labels: { gold: "yes" } });
  const line = "deny ACK-09 spec.kubernetes.metadata: the requester may not use IAMRoleSelector gold, which selects "
    + "the resource";
  const circumstances = { known: CLUSTER_OBJECTS, requester: JANE, ...DENYING };
  t.match(linesOf("ACK-09", gold, circumstances), [line]);
  t.match(linesOf("ACK-09", gold, { ...circumstances, old: adoptedBucket() }), [line], "a change");
  const labeled = { ...gold, metadata: { name: "adopted", namespace: "team-a", labels: { a: "b" } } };
  t.match(linesOf("ACK-09", labeled, { ...circumstances, old: gold }), [line]);
  t.same(linesOf("ACK-09", gold, { ...circumstances, operation: "AUDIT", old: gold }), []);
  t.end();
});

test("the created resource has the stored version of its kind, which selectors can name", (t) => {
  const selector = selectorObject("versioned", {
    arn: GOLD, namespaceSelector: { names: ["team-a"] },
    resourceTypeSelector: [{ group: "s3.services.k8s.aws", version: "v1beta1", kind: "Bucket" }],
  });
  const definition = kindObject("Bucket", "s3.services.k8s.aws", [{ name: "v1beta1", served: true, storage: true }]);
  const known = [...CLUSTER_OBJECTS.slice(0, 1), selector];
  t.same(codes(adoptedBucket(), { known: [...known, definition] }), []);
  t.same(codes(adoptedBucket(), { known }), ["ACK-05"], "without the definition, v1alpha1");
  t.end();
});

test("in a manifest, IRS-52 names the field of the created resource that is misspelled", (t) => {
  const lines = (target: JsonObject): string[] => linesOf("IRS-52", withTarget(target), { origin: "file" });
  t.match(lines({ group: "s3.services.k8s.aws", kind: "Bukcet" }), [/^deny IRS-52 spec\.kubernetes\.kind: /]);
  t.match(lines({ group: "s33.services.k8s.aws", kind: "Bucket" }), [/ IRS-52 spec\.kubernetes\.group: /]);
  const later = { ...adoptedBucket(), apiVersion: "services.k8s.aws/v1" };
  t.match(linesOf("IRS-52", later, { origin: "file" }), ["IRS-52 apiVersion: version \"v1\""]);
  t.end();
});
