import { test } from "tap";
import { ownerOfNamespace } from "../../../shared/core/protected-namespaces.ts";
import { checkSeveritiesOf } from "../../../shared/core/context.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { type ExportTarget, fieldExport } from "../../fixtures/ack-field-export-crd.ts";
import { JANE } from "./resource-lines.ts";
import { ADMIN, SETTINGS_BY_DEFAULT } from "../objects.ts";
import { checkChange, type Circumstances, linesOf } from "../core/findings.ts";

const MAP = { kind: "configmap", name: "ack-role-account-map", key: "evil" };
const HARMLESS = { kind: "secret", name: "mine" };
const FIX = "Export to another ConfigMap or Secret in the namespace of the FieldExport.";

function lines(to: ExportTarget, namespace = "team-a", circumstances: Circumstances = {}): string[] {
  return linesOf("FE-01", fieldExport("e", namespace, to), circumstances);
}

function inNamespace(path: string, namespace: string, owner: string): string {
  const fix = path === "metadata.namespace" ? "Create the FieldExport in another namespace." : FIX;
  const target = `${namespace}/${HARMLESS.name}`;
  return `deny FE-01 ${path}: the controller would write "${target}", whose namespace belongs to ${owner}. ${fix}`;
}

test("FE-01 denies an export into each protected namespace", (t) => {
  const settings = {
    installationNamespaces: ["platform"], ackSystemNamespace: "ack", controllerServiceAccounts: ["ack-s3/c"],
    controllerUsers: ["system:serviceaccount:ack-rds:*"], capaServiceAccounts: ["capa/manager"],
    identitySecretNamespace: "keys",
  };
  const owners = [
    ["platform", "this webhook"], ["ack", "ACK controllers"], ["ack-s3", "ACK controllers"],
    ["ack-rds", "ACK controllers"], ["capa", "Cluster API"], ["keys", "Cluster API"], ["kube-system", "Kubernetes"],
  ] as const;
  for (const [namespace, owner] of owners) {
    t.same(lines({ ...HARMLESS, namespace }, "team-a", { settings }), [
      inNamespace("spec.to.namespace", namespace, owner),
    ]);
    t.same(lines(HARMLESS, namespace, { settings }), [inNamespace("metadata.namespace", namespace, owner)]);
    t.same(lines({ ...HARMLESS, namespace: "" }, namespace, { settings }).length, 1, "an empty namespace");
    t.same(lines({ ...HARMLESS, namespace: "team-b" }, namespace, { settings }), [], "another namespace is written");
  }
  for (const namespace of ["team-a", "ack-system", "ack-role-resolver", "capa-system", "ack-", "s3"]) {
    t.same(lines({ ...HARMLESS, namespace }, "team-a", { settings }), [], namespace);
  }
  t.end();
});

test("FE-01 denies an export into a CARM map of any namespace, of any kind in any case", (t) => {
  for (const kind of ["configmap", "ConfigMap", "secret"]) {
    for (const name of ["ack-role-account-map", "ack-role-team-map"]) {
      t.same(lines({ kind, name }), [
        `deny FE-01 spec.to.name: "${name}" is the name of a CARM map, from which ACK controllers read roles. ${FIX}`,
      ]);
    }
  }
  t.equal(lines({ ...MAP, namespace: "ack-system" }).length, 2, "both faults are reported");
  t.end();
});

test("FE-01 admits other exports, and reports no fault of a malformed target", (t) => {
  t.same(lines(HARMLESS), []);
  t.same(lines({ ...HARMLESS, namespace: "team-b" }), []);
  const targets: readonly unknown[] = [undefined, null, "x", { namespace: 1, name: {} }, []];
  for (const to of targets) {
    const object: JsonObject = { ...fieldExport("e", "team-a", HARMLESS), spec: { to } };
    t.same(linesOf("FE-01", object), [], JSON.stringify(to));
  }
  const manifest = { apiVersion: "services.k8s.aws/v1", kind: "FieldExport", metadata: {}, spec: { to: HARMLESS } };
  t.same(linesOf("FE-01", manifest), [], "without a namespace");
  t.same(linesOf("FE-01", manifest, { settings: { ackSystemNamespace: "default" } }).length, 1);
  t.end();
});

test("FE-03 warns of an export into another namespace, and profile strict denies it", (t) => {
  const crossing = fieldExport("e", "team-a", { ...HARMLESS, namespace: "team-b" });
  const message = 'FE-03 spec.to.namespace: for the FieldExport in namespace "team-a", the controller writes the '
    + 'ConfigMap or Secret "team-b/mine". Export into the FieldExport\'s namespace, and copy '
    + "that; ACK allows it with --enable-cross-namespace=true.";
  t.same(linesOf("FE-03", crossing), [`warn ${message}`]);
  t.same(linesOf("FE-03", fieldExport("e", "team-a", HARMLESS)), []);
  const settings = { checkSeverities: checkSeveritiesOf([], "strict") };
  t.same(linesOf("FE-03", crossing, { settings }), [`deny ${message}`]);
  const relabeled = fieldExport("e", "team-a", { ...HARMLESS, namespace: "team-b" }, { labels: { a: "b" } });
  t.same(linesOf("FE-03", relabeled, { settings, old: crossing }), [`warn ${message}`]);
  const intoMap = checkChange(fieldExport("e", "team-a", { ...MAP, namespace: "ack-system" }));
  t.ok(intoMap.denied);
  t.same(new Set(intoMap.findings.map(({ code }) => code)), new Set(["FE-01", "FE-03"]), "FE-01 still denies");
  t.end();
});

test("FE-01 only warns if the spec of a stored FieldExport stays the same", (t) => {
  const old = fieldExport("e", "ack-system", MAP);
  const relabeled = fieldExport("e", "ack-system", MAP, { labels: { a: "b" } });
  t.match(linesOf("FE-01", relabeled, { old }), [/^warn /, /^warn /]);
  for (const to of [{ ...MAP, key: "other" }, { ...MAP, kind: "secret" }, { ...MAP, name: "other" }]) {
    const changed = linesOf("FE-01", fieldExport("e", "ack-system", to), { old });
    t.ok(changed.length > 0 && changed.every((line) => line.startsWith("deny ")), JSON.stringify(to));
  }
  const otherSource = { ...relabeled, spec: { from: { path: ".spec.name" }, to: MAP } };
  t.match(linesOf("FE-01", otherSource, { old }), [/^deny /, /^deny /]);
  t.end();
});

test("FE-01 can be waived, but only by a waiver user", (t) => {
  const annotations = { "ack-role-resolver.io/allow": "FE-01" };
  const waived = fieldExport("e", "ack-system", HARMLESS, { annotations });
  t.match(linesOf("FE-01", waived, { requester: ADMIN }), [/^warn /]);
  t.match(linesOf("FE-01", waived, { requester: JANE }), [/^deny .*the waiver is ignored/]);
  t.match(linesOf("FE-01", waived), [/^warn /], "offline, every waiver counts");
  t.end();
});

test("no check applies to the deletion of a FieldExport, and FE-02 limits its size", (t) => {
  t.same(linesOf("FE-01", fieldExport("e", "ack-system", MAP), { operation: "DELETE" }), []);
  const annotations = Object.fromEntries(Array.from({ length: 1_001 }, (_, i) => [`a${i}`, ""]));
  const { findings } = checkChange(fieldExport("e", "ack-system", MAP, { annotations }));
  t.match(findings, [{ code: "FE-02", severity: "deny", waivable: false }]);
  t.end();
});

test("a pattern of users protects the namespaces that its service accounts have", (t) => {
  const isProtected = (pattern: string, namespace: string): boolean => (
    ownerOfNamespace(namespace, { ...SETTINGS_BY_DEFAULT, controllerUsers: [pattern] }) !== null
  );
  t.ok(isProtected("system:serviceaccount:ack-s3:*", "ack-s3"));
  t.notOk(isProtected("system:serviceaccount:ack-s3:*", "ack-s"));
  t.notOk(isProtected("system:serviceaccount:ack-s3:*", "ack-s3-2"));
  t.ok(isProtected("system:serviceaccount:ack-*:controller", "ack-rds"));
  t.ok(isProtected("system:serviceaccount:ack-*", "ack-rds"));
  t.notOk(isProtected("system:serviceaccount:ack-*", "team-a"));
  const others = ["system:serviceaccount:*:ack-s3", "system:serviceaccount:**", "system:serviceaccount:", "ack*"];
  for (const pattern of others) {
    t.notOk(isProtected(pattern, "team-a"), pattern);
  }
  t.end();
});
