import { fieldExport } from "../../fixtures/ack-field-export-crd.ts";
import { controllerPod } from "../../fixtures/pods.ts";
import { POD_IDENTITY, WEB_IDENTITY, withEKSIdentity } from "../../fixtures/eks-identity.ts";
import { type Json, withValue } from "./json.ts";
import { accountOf, ACCOUNTS, NAMESPACES, REGIONS, RESOURCE_KINDS, type ResourceKind, roleIn, TEAMS } from "./names.ts";
import type { Random } from "./random.ts";

const ACK = "services.k8s.aws/";
export const OWN = "ack-role-resolver.io/";

/** Returns the metadata that the API server adds to a stored object. */
export function stored(object: Json, random: Random): Json {
  const versioned = withValue(object, ["metadata", "resourceVersion"], String(100 + random.below(900)));
  return withValue(versioned, ["metadata", "uid"], `uid-${random.below(1_000_000)}`);
}

/** Returns the entry with the probability, else no entry. */
function sometimes(random: Random, probability: number, entry: Json): Json {
  return random.chance(probability) ? entry : {};
}

export function namespace(name: string, random: Random, mode = "selectors"): Json {
  const labels = {
    "kubernetes.io/metadata.name": name,
    ...sometimes(random, 0.6, { env: random.pick(["prod", "dev"]) }),
    ...sometimes(random, 0.4, { team: random.pick(["a", "b"]) }),
  };
  const account = { [`${ACK}owner-account-id`]: accountOf(name) };
  const team = { [`${ACK}team-id`]: random.pick(["payments", "media"]) };
  const annotations = {
    ...sometimes(random, mode === "carm" ? 0.7 : 0.05, account),
    ...sometimes(random, mode === "carm" ? 0.2 : 0.01, team),
    ...sometimes(random, 0.3, { [`${ACK}default-region`]: random.pick(REGIONS) }),
    ...sometimes(random, 0.08, { [`${OWN}selector-required`]: "true" }),
    ...sometimes(random, 0.06, { [`${OWN}use-selector`]: random.pick(["team-a", "gold", "absent"]) }),
  };
  const status = { phase: name === "ending" ? "Terminating" : "Active" };
  return { apiVersion: "v1", kind: "Namespace", metadata: { name, labels, annotations }, status };
}

function typeEntry({ group, kind }: ResourceKind, random: Random): Json {
  return { group, version: random.pick(["", "v1alpha1"]), kind: random.pick(["", kind]) };
}

function sessionAnnotations(random: Random): Json {
  return {
    ...sometimes(random, 0.3, { [`${OWN}external-id`]: `ext-${random.below(3)}` }),
    ...sometimes(random, 0.5, { [`${OWN}session-name`]: random.pick(["ack-{namespace}", "ack-0", "ack-1"]) }),
    ...sometimes(random, 0.3, { [`${OWN}session-tags`]: "team={namespace},owner=platform" }),
    ...sometimes(random, 0.2, { [`${OWN}duration-seconds`]: random.pick(["900", "3600", "7200"]) }),
    ...sometimes(random, 0.2, { [`${OWN}source-identity`]: "ack-team" }),
  };
}

/** Returns a valid selector: by the name of a namespace, by type, by the labels of namespaces, or of resources. */
export function selector(random: Random, name = `new-${random.below(40)}`): Json {
  const team = random.pick(TEAMS);
  const way = random.weighted({ name: 5, names: 2, label: 4, type: 2, resources: 2 });
  const parts = {
    name: { namespaceSelector: { names: [team] } },
    names: {
      namespaceSelector: {
        names: random.some(NAMESPACES, 3).concat(team).filter((one, i, all) => all.indexOf(one) === i),
      },
    },
    label: {
      namespaceSelector: {
        names: [],
        labelSelector: { matchLabels: random.pick([{ env: "prod" }, { team: "a" }, { env: "dev", team: "b" }]) },
      },
    },
    type: {},
    resources: { resourceLabelSelector: { matchLabels: { tier: random.pick(["gold", "silver"]) } } },
  }[way];
  const isTyped = way === "type" || random.chance(0.4);
  const types = isTyped
    ? {
      resourceTypeSelector: random.some(RESOURCE_KINDS, 2).concat(random.pick(RESOURCE_KINDS)).map(
        (one) => typeEntry(one, random)
      ),
    }
    : {};
  const account = random.chance(0.75) ? accountOf(team) : random.pick(ACCOUNTS);
  const annotations = random.chance(0.25) ? { annotations: sessionAnnotations(random) } : {};
  const role = roleIn(account, random.chance(0.7) ? team : random.pick(["shared", "path/to/role"]));
  return {
    apiVersion: "services.k8s.aws/v1alpha1", kind: "IAMRoleSelector", metadata: { name, ...annotations },
    spec: { arn: role, ...parts, ...types },
  };
}

/** Returns the selector of one namespace, whose role is in the account of the namespace. */
export function namespaceSelector(team: string): Json {
  return {
    apiVersion: "services.k8s.aws/v1alpha1", kind: "IAMRoleSelector", metadata: { name: team },
    spec: { arn: roleIn(accountOf(team), team), namespaceSelector: { names: [team] } },
  };
}

export function resource(
  random: Random, name = `new-${random.below(40)}`, inNamespace: string = random.pick(NAMESPACES)
): Json {
  const { group, kind } = random.pick(RESOURCE_KINDS);
  const labels = random.chance(0.4) ? { labels: { tier: random.pick(["gold", "silver"]), managed: "yes" } } : {};
  return {
    apiVersion: `${group}/v1alpha1`, kind, metadata: { name, namespace: inNamespace, ...labels }, spec: { name },
  };
}

/** Returns a resource that a controller has created, usually in the account of its namespace. */
export function createdResource(random: Random, name: string, inNamespace: string): Json {
  const object = resource(random, name, inNamespace);
  const account = random.chance(0.8) ? accountOf(inNamespace) : random.pick(ACCOUNTS);
  const region = random.pick(REGIONS);
  const isCreated = random.chance(0.75);
  const arn = isCreated ? { arn: `arn:aws:s3:${region}:${account}:${name}` } : {};
  const status = {
    ackResourceMetadata: { ownerAccountID: account, region, ...arn },
    conditions: isCreated ? [{ type: "ACK.ResourceSynced", status: "True" }] : [],
  };
  const policy = random.chance(0.15) ? { [`${ACK}deletion-policy`]: "retain" } : {};
  const recorded = random.chance(0.3)
    ? { [`${OWN}outcome`]: "selected", [`${OWN}role-arn`]: roleIn(account, inNamespace) }
    : {};
  const created = withValue({ ...object, status }, ["metadata", "annotations"], { ...policy, ...recorded });
  const finalizers = withValue(created, ["metadata", "finalizers"], ["finalizers.ack.services.k8s.aws/resource"]);
  return random.chance(0.05)
    ? withValue(finalizers, ["metadata", "deletionTimestamp"], "2026-01-01T00:00:00Z")
    : finalizers;
}

export function carmMap(random: Random, name: string, inNamespace = "ack-system"): Json {
  const keys = name === "ack-role-team-map"
    ? ["payments", "media", "s3.payments"]
    : [...ACCOUNTS, "s3.111122223333", "sqs.444455556666"];
  const data = random.some(keys, keys.length * 2).map((key) => {
    const account = /\d{12}/.exec(key)?.[0] ?? random.pick(ACCOUNTS);
    return [key, roleIn(account, random.pick(["carm", "carm", "shared"]))];
  });
  return {
    apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace: inNamespace }, data: Object.fromEntries(data),
  };
}

const MAPS = ["ack-role-account-map", "ack-role-team-map"] as const;

export function newCARMMap(random: Random): Json {
  const name = random.pick([...MAPS, ...MAPS, ...MAPS, "ack-role-account-map", "settings"]);
  return carmMap(random, name, random.chance(0.8) ? "ack-system" : random.pick(NAMESPACES));
}

export function newFieldExport(random: Random): Json {
  const to = {
    kind: random.pick(["configmap", "secret"]), name: random.pick(["bucket", "ack-role-account-map"]), key: "arn",
  };
  const target = random.chance(0.5) ? { namespace: random.pick([...NAMESPACES, "ack-role-resolver"]) } : {};
  return fieldExport("export", random.pick(NAMESPACES), { ...to, ...target });
}

export function newPod(random: Random): Json {
  const inNamespace = random.pick(["ack-system", "ack-system", "team-a"]);
  const pod = withValue(controllerPod(), ["metadata", "namespace"], inNamespace);
  const identity = random.weighted({ none: 4, web: 1, pod: 1 });
  if (identity === "none") return pod;
  return withEKSIdentity(pod, identity === "web" ? WEB_IDENTITY : POD_IDENTITY);
}
