import { cpSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { Test } from "tap";
import { field, isJsonObject, type JsonObject, stringAt } from "../../../shared/formats/json.ts";
import { CHART, NAMESPACE, objectsIn, RELEASE, template, withHelm } from "./helm.ts";

/** The values with which OpenShift chooses the users. */
const FREE = ["runAsUser", "runAsGroup", "fsGroup"].map((name) => `podSecurityContext.${name}=null`);
const PODS = ["ack-role-resolver-certificates", "ack-role-resolver-helm-test", "ack-role-resolver-webhook"];
const USERS = /runAsUser|runAsGroup|fsGroup/;

/** The kinds of volumes that restricted-v2 allows. Source: openshift/cluster-kube-apiserver-operator, scc-manifests. */
const VOLUMES: ReadonlySet<string> = new Set([
  "configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret",
]);

function itemsOf(value: unknown): readonly JsonObject[] {
  return [value ?? []].flat().filter(isJsonObject);
}

/** Returns the Pods of a release by name. */
function podsIn(yaml: string): ReadonlyMap<string, unknown> {
  return new Map(objectsIn(yaml).flatMap((object) => {
    const kind = stringAt(object, "kind");
    const spec = kind === "Pod" ? object["spec"] : field(field(field(object, "spec"), "template"), "spec");
    return kind === "Pod" || kind === "Deployment" ? [[stringAt(object, "metadata", "name") ?? "", spec] as const] : [];
  }));
}

/** Returns the fields of a Pod that the SCC restricted-v2 of OpenShift rejects. */
function rejectedFields(spec: unknown): string[] {
  const containers = [...itemsOf(field(spec, "initContainers")), ...itemsOf(field(spec, "containers"))];
  return [
    ...["hostNetwork", "hostPID", "hostIPC"].filter((name) => field(spec, name) === true),
    ...itemsOf(field(spec, "volumes")).flatMap((volume) => (
      Object.keys(volume).filter((name) => name !== "name" && !VOLUMES.has(name)).map((name) => `volumes.${name}`)
    )),
    ...rejectedUsers(field(spec, "securityContext")),
    ...containers.flatMap((container) => [
      ...rejectedUsers(container["securityContext"]), ...rejectedPrivileges(container["securityContext"]),
      ...itemsOf(container["ports"]).filter(({ hostPort }) => hostPort !== undefined).map(() => "hostPort"),
    ]),
  ];
}

/** restricted-v2 takes the users, groups and SELinux labels of the namespace. */
function rejectedUsers(context: unknown): string[] {
  const seccomp = field(context, "seccompProfile");
  return [
    ...["runAsUser", "fsGroup", "seLinuxOptions"].filter((name) => field(context, name) !== undefined),
    ...(seccomp === undefined || stringAt(seccomp, "type") === "RuntimeDefault" ? [] : ["seccompProfile"]),
  ];
}

function rejectedPrivileges(context: unknown): string[] {
  const capabilities = field(context, "capabilities");
  const [dropped, added] = ["drop", "add"].map((name) => [field(capabilities, name) ?? []].flat());
  return [
    ...["privileged", "allowPrivilegeEscalation"].filter((name) => field(context, name) === true),
    ...(dropped?.includes("ALL") === true ? [] : ["capabilities.drop"]),
    ...(added?.every((one) => one === "NET_BIND_SERVICE") === true ? [] : ["capabilities.add"]),
  ];
}

/** Returns a copy of the chart that also renders the Pod of `helm test` without a cluster. */
function chartWithTest(t: Test): string {
  const copy = path.join(t.testdir({}), "chart");
  cpSync(CHART, copy, { recursive: true });
  const file = path.join(copy, "templates/tests/dry-run.yaml");
  const text = readFileSync(file, "utf8");
  writeFileSync(file, text.replace('{{- if include "ack-role-resolver.cluster" . }}', "{{- if true }}"));
  return copy;
}

withHelm("OpenShift admits every Pod of a release that leaves its users open", async (t, helm) => {
  const values = [...FREE, "extraVolumes[0].name=ca", "extraVolumes[0].configMap.name=a"];
  const args = ["template", RELEASE, chartWithTest(t), "--namespace", NAMESPACE, "--kube-version", "1.30.0"];
  const { stdout, stderr } = await helm([...args, "--set", values.join()]);
  t.equal(stderr, "");
  const pods = podsIn(stdout);
  t.same([...pods.keys()].toSorted(), PODS);
  for (const [name, spec] of pods) {
    t.notMatch(JSON.stringify(spec), USERS, name);
    t.match(spec, { securityContext: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } } });
    t.same(rejectedFields(spec), [], name);
  }
});

/** Values of Pods that OpenShift rejects, and the fields of the webhook's Pod that it names. */
const REJECTED: readonly (readonly [values: readonly string[], fields: readonly string[]])[] = [
  [[], ["runAsUser", "fsGroup"]],
  [[...FREE, "hostNetwork=true"], ["hostNetwork"]],
  [[...FREE, "extraVolumes[0].name=a", "extraVolumes[0].hostPath.path=/"], ["volumes.hostPath"]],
  [[...FREE, "podSecurityContext.seccompProfile.type=Unconfined"], ["seccompProfile"]],
  [[...FREE, "securityContext.allowPrivilegeEscalation=true"], ["allowPrivilegeEscalation"]],
  [[...FREE, "securityContext.capabilities.add={NET_BIND_SERVICE,NET_ADMIN}"], ["capabilities.add"]],
  [[...FREE, "securityContext.capabilities.drop={NET_RAW}"], ["capabilities.drop"]],
  [[...FREE, "securityContext.runAsUser=65532", "securityContext.privileged=true"], ["runAsUser", "privileged"]],
  [[...FREE, "securityContext=null"], ["capabilities.drop"]],
];

withHelm("the Pods have the security contexts of the values, also those that OpenShift rejects", async (t, helm) => {
  for (const [values, fields] of REJECTED) {
    const { stdout, stderr } = await template(helm, values);
    t.equal(stderr, "", values.join());
    t.same(rejectedFields(podsIn(stdout).get("ack-role-resolver-webhook")), fields, values.join());
  }
  const { stdout } = await template(helm, ["podSecurityContext=null", "securityContext=null"]);
  for (const [name, spec] of podsIn(stdout)) t.notMatch(JSON.stringify(spec), "securityContext", name);
});

withHelm("injected sidecars have the user of the values, or that of the cluster", async (t, helm) => {
  const flags = async (user: string): Promise<readonly string[]> => {
    const { stdout } = await template(helm, ["injection.enabled=true", `injection.runAsUser=${user}`]);
    return [...stdout.matchAll(/- --sidecar-run-as-user=(.*)\n/g)].map(([, value = ""]) => value);
  };
  t.same(await flags("null"), ["none"]);
  t.same(await flags("1000680000"), ["1000680000"]);
  t.same(await flags("65532"), [], "the default of the webhook");
  t.notMatch((await template(helm, ["injection.runAsUser=null"])).stdout, "--sidecar-run-as-user", "no injection");
});

withHelm("a release has the extra objects of the values, with their templates evaluated", async (t, helm) => {
  const metadata = { name: "{{ .Release.Name }}-extra", namespace: "{{ .Release.Namespace }}" };
  const extra = [
    { apiVersion: "v1", kind: "ConfigMap", metadata, data: { replicas: "{{ .Values.replicas }}" } },
    { apiVersion: "route.openshift.io/v1", kind: "Route", metadata: { name: "b" }, spec: { port: 1 } },
  ];
  const args = ["template", RELEASE, CHART, "--namespace", NAMESPACE, "--kube-version", "1.30.0"];
  const { stdout, stderr } = await helm([...args, "--set-json", `extraObjects=${JSON.stringify(extra)}`]);
  t.equal(stderr, "");
  const plain = objectsIn((await template(helm)).stdout);
  const [first, second] = extra;
  const evaluated = {
    ...first, metadata: { name: `${RELEASE}-extra`, namespace: NAMESPACE }, data: { replicas: "2" },
  };
  const objects = objectsIn(stdout).map((object) => JSON.stringify(object));
  const added = objects.filter((object) => !plain.some((one) => JSON.stringify(one) === object));
  t.same(added.map((object): unknown => JSON.parse(object)), [evaluated, second]);
  t.equal(objects.length, plain.length + extra.length);
});
