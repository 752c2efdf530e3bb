import type { Inventory } from "../../inventory/inventory.ts";
import type { ACKResource } from "../../kubernetes/ack-resource.ts";
import { isACKGroup, SELECTOR_GROUP, SELECTOR_KIND } from "../../kubernetes/kinds.ts";
import { compareText, countOf, listOf } from "../../kubernetes/text.ts";
import { type Paced, paced } from "../../paced.ts";
import { accountOfResource, RESOURCES_BETWEEN_PAUSES } from "../../resolution/change-set.ts";
import { type Selection, selectionFor } from "../../resolution/selection.ts";
import type { CheckContext } from "../change.ts";
import type { Check, Fault, ScanningCheck } from "../check.ts";
import { resourceInAccount, SCAN_LIMIT } from "../message-lists.ts";

/**
 * The deletion of a CustomResourceDefinition. The API server then also deletes every object of the kind, and calls no
 * webhook for these objects.
 */
interface KindDeletion extends CheckContext {
  readonly group: string;
  readonly kind: string;
}

const PATH = ["spec", "names", "kind"] as const;

export const IRS_34: ScanningCheck<KindDeletion> = {
  id: "IRS-34",
  severity: "deny",
  waivable: true,
  reason: "When the CustomResourceDefinition is deleted, the API server also deletes every IAMRoleSelector, and calls "
    + "no webhook. Controllers then use their own role for every resource that an IAMRoleSelector selected.",
  fix: "first delete each IAMRoleSelector; the webhook denies this deletion if a resource depends on the selector",
  example: "kubectl delete crd iamroleselectors.services.k8s.aws # while an IAMRoleSelector selects Bucket team-a/b1",
  requires: ["resources"],
  on: ["DELETE"],
  ofChange: true,
  *scan({ group, kind, inventory, settings }: KindDeletion): Paced<readonly Fault[]> {
    if (group !== SELECTOR_GROUP || kind !== SELECTOR_KIND) return [];
    const selectors = inventory.selectors.size + inventory.selectors.malformed.size;
    // In mode carm, selectors have no effect.
    const selected = settings.mode === "carm"
      ? []
      : yield* listMatches(inventory, inventory.resources.all(), (_, one) => one.selectors.length > 0);
    const deleted = `${countOf(selectors, SELECTOR_KIND)} would be deleted with the CustomResourceDefinition`;
    if (selected.length > 0) {
      const message = `${deleted}, and the controller's own role and account would apply to ${countAndList(selected)}`;
      return [{ path: PATH, message }];
    }
    if (selectors === 0) return [];
    return [{ path: PATH, message: `${deleted}, but no selector selects a resource now`, severity: "warn" }];
  },
};

export const ACK_34: ScanningCheck<KindDeletion> = {
  id: "ACK-34",
  severity: "deny",
  waivable: true,
  reason: "When the CustomResourceDefinition is deleted, the API server also deletes every resource of the kind, and "
    + "calls no webhook. Controllers then delete or retain each AWS resource, as its deletion policy states.",
  fix: "delete the resources first. To keep them in AWS, annotate each with services.k8s.aws/deletion-policy: retain, "
    + "and ask a waiver user to allow the deletion",
  example: "kubectl delete crd buckets.s3.services.k8s.aws # while Bucket team-a/b1 exists",
  requires: ["resources"],
  on: ["DELETE"],
  ofChange: true,
  *scan({ group, kind, inventory }: KindDeletion): Paced<readonly Fault[]> {
    if (!isACKGroup(group)) return [];
    const resources = inventory.resources.ofGroup(group);
    const deleted = yield* listMatches(inventory, resources, (resource) => resource.kind === kind);
    if (deleted.length === 0) return [];
    const message = `the deletion of the CustomResourceDefinition also deletes ${countAndList(deleted)}`;
    return [{ path: PATH, message }];
  },
};

export const KIND_DELETION_CHECKS: readonly Check<KindDeletion>[] = [IRS_34, ACK_34];

/**
 * Returns the first `SCAN_LIMIT` matching resources as sorted texts, such as `Bucket team-a/b1 in account
 * 111122223333`.
 */
function* listMatches(
  inventory: Inventory,
  resources: Iterable<ACKResource>,
  matches: (resource: ACKResource, selection: Selection) => boolean,
): Paced<string[]> {
  const found: string[] = [];
  yield* paced(Array.from(resources), RESOURCES_BETWEEN_PAUSES, (resource) => {
    const selection = selectionFor(inventory, resource);
    if (!matches(resource, selection)) return true;
    found.push(resourceInAccount(resource, accountOfResource({ resource, before: selection })));
    return found.length < SCAN_LIMIT;
  });
  return found.toSorted(compareText);
}

function countAndList(resources: readonly string[]): string {
  return `${countOf(resources.length, "resource", SCAN_LIMIT)}: ${listOf(resources, resources.length, SCAN_LIMIT)}`;
}
