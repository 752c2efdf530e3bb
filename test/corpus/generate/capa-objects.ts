import {
  clusterObject, controllerIdentity, identityObject, refTo, roleIdentity, staticIdentity,
} from "../../shared/capa-objects.ts";
import { managedBy, secretMetadata } from "../../shared/capa-secrets.ts";
import { at, type Json, withValue } from "./json.ts";
import {
  ACCOUNTS, CLUSTER_GROUP, CLUSTER_NAMESPACES, CLUSTERS, CONTROL_PLANE, IDENTITIES, INFRASTRUCTURE, NAMESPACES, roleIn,
} from "./names.ts";
import type { Random } from "./random.ts";

const CLUSTER_LABEL = "cluster.x-k8s.io/cluster-name";

function allowed(random: Random): unknown {
  const way = random.weighted({ every: 3, list: 4, selector: 4, none: 1 });
  if (way === "every") return {};
  if (way === "none") return { list: [] };
  if (way === "list") return { list: [...CLUSTER_NAMESPACES, ...random.some(NAMESPACES, 2)] };
  return { selector: { matchLabels: random.pick([{ env: "prod" }, { team: "a" }]) } };
}

/** Returns the identities of an inventory: a controller, a static one, and chains of roles. */
export function identities(random: Random): Json[] {
  const open = { list: [...CLUSTER_NAMESPACES, "team-a"] };
  return [
    ...(random.chance(0.85) ? [controllerIdentity(random.chance(0.8) ? {} : open)] : []),
    staticIdentity("s", random.chance(0.6) ? {} : open, "s-creds"),
    roleIdentity("hub", "controller", {}),
    roleIdentity("workload", "role/hub", allowed(random)),
    roleIdentity("team-a", "static/s", open, { externalID: "x-1", roleARN: roleIn(ACCOUNTS[1], "team-a") }),
    ...(random.chance(0.6) ? [roleIdentity("deep", "role/workload", allowed(random))] : []),
    ...(random.chance(0.4) ? [roleIdentity("lost", "role/absent", {})] : []),
  ];
}

export function newIdentity(random: Random): Json {
  const kind = random.weighted({ role: 8, static: 3, controller: 2, account: 1 });
  const name = `new-${random.below(20)}`;
  if (kind === "controller") return controllerIdentity(allowed(random));
  if (kind === "static") return staticIdentity(name, allowed(random), random.pick(["s-creds", "absent-creds"]));
  if (kind === "account") {
    const spec = { roleARN: roleIn(ACCOUNTS[0], "sa"), audiences: ["sts.amazonaws.com"] };
    return identityObject("AWSServiceAccountIdentity", name, spec, { namespace: random.pick(CLUSTER_NAMESPACES) });
  }
  const source = random.pick(["controller", "static/s", "role/hub", "role/workload", "role/absent"]);
  const account = random.pick(ACCOUNTS);
  const rest = {
    roleARN: roleIn(account, name), ...(random.chance(0.5) && { externalID: "x-2" }),
    ...(random.chance(0.3) && { durationSeconds: 900 }),
  };
  return roleIdentity(name, source, allowed(random), rest);
}

const REFERRERS: readonly (readonly [group: string, kind: string])[] = [
  [INFRASTRUCTURE, "AWSCluster"], [INFRASTRUCTURE, "AWSCluster"], [INFRASTRUCTURE, "AWSCluster"],
  [INFRASTRUCTURE, "AWSClusterTemplate"],
  [INFRASTRUCTURE, "ROSANetwork"], [INFRASTRUCTURE, "ROSARoleConfig"], [CONTROL_PLANE, "AWSManagedControlPlane"],
  [CONTROL_PLANE, "AWSManagedControlPlaneTemplate"], [CONTROL_PLANE, "ROSAControlPlane"],
];

function belongsTo(object: Json, cluster: string): Json {
  const labeled = withValue(object, ["metadata", "labels", CLUSTER_LABEL], cluster);
  const owner = { apiVersion: `${CLUSTER_GROUP}/v1beta1`, kind: "Cluster", name: cluster, uid: `uid-${cluster}` };
  return withValue(labeled, ["metadata", "ownerReferences"], [owner]);
}

/** Returns an object that refers to an identity, usually in a namespace for clusters. */
export function referrer(random: Random, name: string = random.pick(CLUSTERS)): Json {
  const [group, kind] = random.pick(REFERRERS);
  const inNamespace = random.chance(0.8) ? random.pick(CLUSTER_NAMESPACES) : random.pick(NAMESPACES);
  const reference = random.chance(0.8) ? random.pick(IDENTITIES) : null;
  const cluster = clusterObject(name, reference, inNamespace);
  const spec = kind.endsWith("Template") ? { template: { spec: cluster["spec"] } } : cluster["spec"];
  const object = { ...cluster, apiVersion: `${group}/v1beta2`, kind, spec };
  return random.chance(0.5) ? belongsTo(object, name) : object;
}

const MACHINES = [
  "AWSMachine", "AWSMachinePool", "AWSManagedMachinePool", "AWSFargateProfile", "ROSAMachinePool",
] as const;
const OF_CLUSTER_API = ["Cluster", "Machine", "MachineSet", "MachineDeployment", "MachinePool"] as const;

/** Returns an object that uses the identity of its Cluster: a machine, a pool, or an object of Cluster API. */
export function clusterPart(random: Random, name = `part-${random.below(9)}`): Json {
  const cluster = random.pick([...CLUSTERS, "absent"]);
  const inNamespace = random.pick(CLUSTER_NAMESPACES);
  const metadata = { name, namespace: inNamespace };
  const way = random.weighted({ machine: 4, api: 4, control: 1 });
  if (way === "machine") {
    const spec = random.chance(0.5) ? { clusterName: cluster } : {};
    const owner = { apiVersion: `${CLUSTER_GROUP}/v1beta1`, kind: "Machine", name: `m-${cluster}` };
    const object = belongsTo(
      { apiVersion: `${INFRASTRUCTURE}/v1beta2`, kind: random.pick(MACHINES), metadata, spec }, cluster
    );
    return random.chance(0.5) ? withValue(object, ["metadata", "ownerReferences"], [owner]) : object;
  }
  const infrastructureRef = {
    kind: random.pick(["AWSMachineTemplate", "AWSMachinePool", "DockerMachineTemplate"]), name: "i",
  };
  if (way === "control") {
    const spec = { machineTemplate: { infrastructureRef } };
    return belongsTo({ apiVersion: `${CONTROL_PLANE}/v1beta1`, kind: "KubeadmControlPlane", metadata, spec }, cluster);
  }
  const kind = random.pick(OF_CLUSTER_API);
  const reference = {
    infrastructureRef: { kind: "AWSCluster", name: cluster },
    controlPlaneRef: { kind: "AWSManagedControlPlane", name: cluster },
  };
  const spec = kind === "Cluster"
    ? reference
    : { clusterName: cluster, template: { spec: { clusterName: cluster, infrastructureRef } }, infrastructureRef };
  const object = {
    apiVersion: `${CLUSTER_GROUP}/v1beta1`, kind,
    metadata: kind === "Cluster" ? { ...metadata, name: cluster } : metadata, spec,
  };
  return kind === "Cluster" ? object : withValue(object, ["metadata", "labels", CLUSTER_LABEL], cluster);
}

/** Returns the metadata of the Secrets of static identities, as the API server sends it. */
export function secrets(random: Random): Json[] {
  const keys = random.pick([
    ["AccessKeyID", "SecretAccessKey", "SessionToken"], ["AccessKeyID", "SecretAccessKey"],
    ["accessKeyID", "secretAccessKey"], ["AccessKeyID"],
  ]);
  const other = secretMetadata([managedBy("kubectl", ["AccessKeyID", "SecretAccessKey"])], { name: "old-creds" });
  return [secretMetadata([managedBy("kubectl", keys)]), other];
}

/** Returns the object with an identity of another account or another name. */
export function withOtherIdentity(object: Json, random: Random): Json {
  const path = at(object, "spec", "template") === undefined
    ? ["spec", "identityRef"]
    : ["spec", "template", "spec", "identityRef"];
  const reference = random.chance(0.85) ? refTo(random.pick(IDENTITIES)) : undefined;
  return withValue(object, path, reference);
}

