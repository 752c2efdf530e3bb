import { resourceName } from "../core/ack-resource.ts";
import type { ChainLink } from "../core/resolution.ts";
import { REFERRERS } from "../capa/referrers.ts";
import { RESOURCES } from "./resources.ts";
import { ACK_GROUPS, serviceOf } from "../core/ack-groups.ts";
import { DELETION_POLICY_ANNOTATION } from "../core/annotation-keys.ts";
import { annotationPath, type FieldPath } from "../formats/json.ts";
import type { Labels } from "../formats/label-selector.ts";
import { paced, type Paced } from "../formats/paced.ts";
import { closest, compareText, countOf, listOf, MAX_NAMES, printable, quote, sortedListOf } from "../formats/text.ts";
import type { Inventory } from "../core/inventory.ts";
import { isOfTemplate, referenceOf, type Referrer } from "../capa/referrer.ts";
import { identityChain, referrerName } from "../capa/identity-chain.ts";
import { describeIdentity } from "../capa/identity-denials.ts";
import type { Fault, QuickCheck, ScanningCheck } from "../core/check.ts";
import { SCAN_LIMIT } from "../core/fault-texts.ts";
import type { NamespaceChange } from "../core/namespace-change.ts";
import { isSameLabels } from "./role-inputs.ts";
import { DELETION_POLICY } from "../core/value-types.ts";

/** Matches the annotation key for the deletion policy of a service, such as `s3.services.k8s.aws/deletion-policy`. */
const SERVICE_POLICY = /^(.+)\.services\.k8s\.aws\/deletion-policy$/;

export const NS_09: QuickCheck<NamespaceChange> = {
  id: "NS-09",
  severity: "deny",
  reason: "Controllers treat any policy except delete as retain. The AWS resources then remain in AWS, and controllers "
    + "log no warning. A controller reads only the policy of its own service, in lower case: for another service, the "
    + "check warns.",
  fix: "set the deletion policy to delete or retain",
  example: "metadata: {annotations: {s3.services.k8s.aws/deletion-policy: Delete}}",
  *find({ inventory, state }): Iterable<Fault> {
    for (const [key, value] of state.annotations) {
      const path = annotationPath(key);
      const [, service] = SERVICE_POLICY.exec(key) ?? [];
      if (key === DELETION_POLICY_ANNOTATION) {
        const message = "the deletion policy names no service, so controllers ignore it on a namespace";
        yield { path, message, fix: SERVICE_FIX, severity: "warn" };
      }
      if (service === undefined) continue;
      if (value !== "" && DELETION_POLICY.faults(value).length > 0) {
        yield { path, message: `${quote(value)} is not a deletion policy, so controllers treat it as retain` };
      }
      yield* serviceFaults(path, service, inventory.kinds.groups);
    }
  },
};

const SERVICE_FIX = "use SERVICE.services.k8s.aws/deletion-policy with the lower-case name of the service, such as s3";

function* serviceFaults(path: FieldPath, service: string, installed: ReadonlySet<string>): Iterable<Fault> {
  const group = `${service}.services.k8s.aws`;
  if (ACK_GROUPS.includes(group) || installed.has(group)) return;
  const meant = closest(service, ACK_GROUPS.map(serviceOf));
  const message = `${quote(service)} is not an ACK service, so controllers ignore the annotation`;
  const fix = meant === null ? SERVICE_FIX : `use ${meant}.${DELETION_POLICY_ANNOTATION} if you meant ${meant}`;
  yield { path, message, fix, severity: "warn" };
}

export const NS_13: QuickCheck<NamespaceChange> = {
  id: "NS-13",
  severity: "warn",
  reason: "When a namespace is deleted, controllers delete the AWS resources of its objects, and CAPA deletes its "
    + "clusters. Until then, they need the namespace's labels and annotations, the selectors and the identities.",
  fix: "until the namespace is deleted, do not change its labels and annotations, or the selectors",
  fixInCARM: "until the namespace is deleted, do not change its annotations, or the CARM maps",
  example: "kubectl delete namespace team-a # while it contains a Bucket",
  requires: ["resources"],
  on: ["DELETE"],
  *find({ inventory, name }): Iterable<Fault> {
    const resources = inventory.of(RESOURCES).inNamespace(name);
    if (resources.size === 0) return;
    // Sorts only the resources that the message lists, because a namespace may contain many resources.
    const some = [...resources].slice(0, MAX_NAMES).map(resourceName).toSorted(compareText);
    const list = `${countOf(resources.size, "resource")}: ${listOf(some, resources.size)}`;
    yield { path: ["metadata", "name"], message: `the deletion of the namespace also deletes ${list}` };
  },
};

const OBJECTS_BETWEEN_PAUSES = 200;

export const NS_12: ScanningCheck<NamespaceChange> = {
  id: "NS-12",
  severity: "deny",
  waivable: true,
  reason: "The selector of an identity reads the labels of the namespace. CAPA neither reconciles nor deletes a "
    + "cluster whose namespace an identity of its chain does not allow.",
  fix: "keep the labels that the identities select, or first add the namespace to allowedNamespaces.list of the "
    + "identities",
  example: "metadata: {labels: {team: b}} # was team: a, which the identity of a cluster in the namespace selects",
  requires: ["identities", "clusters"],
  on: ["UPDATE"],
  ofChange: true,
  *scan({ inventory, name, stored, state }): Paced<readonly Fault[]> {
    if (stored === null || isSameLabels(stored.labels, state.labels)) return [];
    const losing: string[] = [];
    // Copies the objects, because the inventory may change during a pause.
    yield* paced([...inventory.of(REFERRERS).inNamespace(name)], OBJECTS_BETWEEN_PAUSES, (user) => {
      const link = lostLink(inventory, user, { before: stored.labels, after: state.labels });
      if (link !== undefined) losing.push(`${referrerName(user)} (${describeIdentity(link)})`);
      return losing.length < SCAN_LIMIT;
    });
    if (losing.length === 0) return [];
    const list = listOf(losing.toSorted(compareText), losing.length, SCAN_LIMIT);
    const count = countOf(losing.length, "object", SCAN_LIMIT);
    const message = printable(`with the new labels, an identity no longer allows the namespace for ${count}: ${list}`);
    return [{ path: ["metadata", "labels"], message }];
  },
};

interface LabelChange {
  readonly before: Labels;
  readonly after: Labels;
}

/** Returns the identity that allows the namespace of the object only before the change, or undefined. */
function lostLink(inventory: Inventory, user: Referrer, { before, after }: LabelChange): ChainLink | undefined {
  const reference = referenceOf(user, inventory.runtime);
  if (reference === null) return undefined;
  const chain = identityChain(inventory, reference, user.namespace, { labels: after });
  if (identityChain(inventory, reference, user.namespace, { labels: before }).denial !== null) return undefined;
  return chain.links.find(({ allowed }) => !allowed);
}

/** NS-13 for the objects of Cluster API in a namespace. */
export const NS_13_OF_CLUSTERS: QuickCheck<NamespaceChange> = {
  ...NS_13,
  requires: ["clusters"],
  *find({ inventory, name }): Iterable<Fault> {
    const objects = [...inventory.of(REFERRERS).inNamespace(name)].filter((one) => !isOfTemplate(one));
    if (objects.length === 0) return;
    const list = sortedListOf(objects.map(referrerName));
    const count = countOf(objects.length, "object");
    const message = printable(`the deletion of the namespace also deletes ${count} of Cluster API: ${list}`);
    const fix = "do not change the namespace's labels or the identities until the namespace is deleted";
    yield { path: ["metadata", "name"], message, fix };
  },
};
