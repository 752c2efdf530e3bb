import { ackCRD } from "../../fixtures/ack-crds.ts";
import { ACK_FIELD_EXPORT_CRD } from "../../fixtures/ack-field-export-crd.ts";
import { ACK_SELECTOR_CRD } from "../../fixtures/ack-selector-crd.ts";
import { namespace, newCARMMap, newFieldExport, newPod, resource, selector } from "./ack-objects.ts";
import { clusterPart, newIdentity, referrer, withOtherIdentity } from "./capa-objects.ts";
import { FIELD_VALUES } from "./field-values.ts";
import { at, type Json, textAt, withValue } from "./json.ts";
import { CLUSTER_GROUP, CONTROL_PLANE, INFRASTRUCTURE, NAMESPACES, RESOURCE_KINDS, type User } from "./names.ts";
import type { Random } from "./random.ts";

export type SubjectName = keyof typeof FIELD_VALUES;

/** A kind of object, whose changes are reviewed. */
export interface Subject {
  /** The paths of the webhook that review the kind. The first one is the most common. */
  readonly paths: readonly string[];
  /** Returns a new valid object. */
  readonly create: (random: Random) => Json;
  /** Whether an object of an inventory is of this kind. */
  readonly includes: (object: Json) => boolean;
  /** The users who write the kind more often than others. */
  readonly users: readonly User[];
}

function groupOf(object: Json): string {
  const [group, version] = textAt(object, "apiVersion").split("/");
  return version === undefined ? "" : group ?? "";
}

function is(kind: string, group = ""): (object: Json) => boolean {
  return (object) => object["kind"] === kind && groupOf(object) === group;
}

const IDENTITY = /^AWS(Cluster(Role|Static|Controller)|ServiceAccount)Identity$/;
const REFERRER = /^(AWSCluster|AWSManagedControlPlane|ROSAControlPlane|ROSANetwork|ROSARoleConfig)/;

function isOfCAPA(object: Json): boolean {
  return [INFRASTRUCTURE, CONTROL_PLANE, CLUSTER_GROUP].includes(groupOf(object));
}

function isIdentity(object: Json): boolean {
  return isOfCAPA(object) && IDENTITY.test(textAt(object, "kind"));
}

function isReferrer(object: Json): boolean {
  return isOfCAPA(object) && !isIdentity(object) && REFERRER.test(textAt(object, "kind"));
}

function definition(random: Random): Json {
  const { group, kind, plural } = random.pick(RESOURCE_KINDS);
  const other = ackCRD("example.com", "Widget", "widgets");
  return random.pick<Json>(
    [
      { ...ackCRD(group, kind, plural) }, { ...ackCRD(group, kind, plural) }, ACK_SELECTOR_CRD, ACK_FIELD_EXPORT_CRD,
      { ...other },
    ]
  );
}

export const SUBJECTS: Readonly<Record<SubjectName, Subject>> = {
  selector: {
    paths: ["/validate/iamroleselectors", "/mutate/iamroleselectors"], create: selector,
    includes: is("IAMRoleSelector", "services.k8s.aws"), users: ["admin", "deployer"],
  },
  resource: {
    paths: ["/validate/resources", "/mutate/resources"], create: resource,
    includes: (object) => RESOURCE_KINDS.some(({ kind, group }) => is(kind, group)(object)),
    users: ["ack", "collector", "eks"],
  },
  namespace: {
    paths: ["/validate/namespaces"], users: ["admin", "namespaces"], includes: is("Namespace"),
    create: (random) => namespace(
      random.pick([...NAMESPACES, "brand-new"]), random, random.pick(["carm", "selectors"])
    ),
  },
  map: {
    paths: ["/validate/configmaps"], create: newCARMMap, includes: is("ConfigMap"),
    users: ["ack", "namespaces"],
  },
  export: {
    paths: ["/validate/fieldexports"], create: newFieldExport,
    includes: is("FieldExport", "services.k8s.aws"),
    users: ["ack"],
  },
  identity: {
    paths: ["/validate/identities"], create: newIdentity, includes: isIdentity, users: ["admin", "capa"],
  },
  cluster: {
    paths: ["/validate/clusters", "/mutate/clusters"], create: referrer, includes: isReferrer,
    users: ["capa", "collector"],
  },
  part: {
    paths: ["/validate/clusters"], create: clusterPart, users: ["capi", "capa"],
    includes: (object) => isOfCAPA(object) && !isIdentity(object) && !isReferrer(object),
  },
  pod: {
    paths: ["/validate/pods", "/mutate/pods"], create: newPod, includes: is("Pod"), users: ["deployer"],
  },
  definition: {
    paths: ["/validate/resources", "/validate/iamroleselectors"], create: definition,
    includes: is("CustomResourceDefinition", "apiextensions.k8s.io"), users: ["admin"],
  },
};

export const PATHS = [...new Set(Object.values(SUBJECTS).flatMap(({ paths }) => paths))];

/** How often each kind is changed. */
export const SUBJECT_WEIGHTS: Readonly<Record<SubjectName, number>> = {
  selector: 26, resource: 24, namespace: 13, map: 7, export: 4, identity: 13, cluster: 11, part: 4, pod: 4,
  definition: 3,
};

/** Returns the object with one changed field. */
export function changed(object: Json, subject: SubjectName, random: Random): Json {
  if (subject === "cluster" && random.chance(0.4)) return withOtherIdentity(object, random);
  const [path, values] = random.pick(FIELD_VALUES[subject]);
  const isTemplate = path[0] === "spec" && at(object, "spec", "template", "spec", "identityRef") !== undefined;
  return withValue(object, isTemplate ? ["spec", "template", ...path] : path, random.pick(values));
}
