import type { Inventory } from "../inventory/inventory.ts";
import type { ACKResource } from "../kubernetes/ack-resource.ts";
import { isACKGroup, SELECTOR_GROUP, SELECTOR_KIND } from "../kubernetes/kinds.ts";
import { compareText, countOf, listOf } from "../kubernetes/text.ts";
import { type Paced, paced } from "../paced.ts";
import { accountOf } from "../resolution/change-set.ts";
import { selectingSelectors } from "../resolution/resolve.ts";
import type { EffectiveSelector } from "../selectors/effective.ts";
import type { CheckContext } from "./change.ts";
import type { Check, Fault, ScanningCheck } from "./check.ts";
import { ENOUGH, placeOf } from "./message-lists.ts";

/** A CustomResourceDefinition that is to be deleted: every object of its kind goes with it, and no webhook is asked of them. */
export interface KindDeletion extends CheckContext {
  readonly group: string;
  readonly kind: string;
}

const PATH = ["spec", "names", "kind"] as const;
const RESOURCES_BETWEEN_PAUSES = 100;

export const IRS_34: ScanningCheck<KindDeletion> = {
  id: "IRS-34",
  severity: "deny",
  waivable: true,
  reason: "The API server deletes every IAMRoleSelector with its definition and asks no webhook, and all that they select falls to the controller's own role.",
  fix: "delete the IAMRoleSelectors first, each of which is let go when nothing needs it",
  example: "kubectl delete crd iamroleselectors.services.k8s.aws # and team-a/b1 is selected",
  requires: ["resources"],
  on: ["DELETE"],
  ofChange: true,
  *scan({ group, kind, inventory, settings }: KindDeletion): Paced<readonly Fault[]> {
    if (group !== SELECTOR_GROUP || kind !== SELECTOR_KIND) return [];
    const selectors = inventory.selectors.size + inventory.malformed.size;
    // In mode carm no selector selects anything.
    const selected = settings.mode === "carm" ? [] : yield* places(inventory, inventory.resources.all(), (_, selecting) => selecting.length > 0);
    const lost = `${countOf(selectors, SELECTOR_KIND)} would be deleted with it`;
    if (selected.length > 0) return [{ path: PATH, message: `${lost}, and ${countOf(selected.length, "resource", ENOUGH)} fall to the controller's own role and account: ${listOf(selected, selected.length, ENOUGH)}` }];
    return selectors === 0 ? [] : [{ path: PATH, message: `${lost}, though nothing is selected now`, severity: "warn" }];
  },
};

export const ACK_34: ScanningCheck<KindDeletion> = {
  id: "ACK-34",
  severity: "deny",
  waivable: true,
  reason: "The API server deletes every resource with its definition and asks no webhook, and what each one's deletion policy says is done in AWS.",
  fix: "delete the resources first, or annotate them with services.k8s.aws/deletion-policy: retain and have one who may waive allow it",
  example: "kubectl delete crd buckets.s3.services.k8s.aws # and team-a/b1 is there",
  requires: ["resources"],
  on: ["DELETE"],
  ofChange: true,
  *scan({ group, kind, inventory }: KindDeletion): Paced<readonly Fault[]> {
    if (!isACKGroup(group)) return [];
    const there = yield* places(inventory, inventory.resources.ofGroup(group), (resource) => resource.kind === kind);
    if (there.length === 0) return [];
    return [{ path: PATH, message: `${countOf(there.length, "resource", ENOUGH)} would be deleted with it: ${listOf(there, there.length, ENOUGH)}` }];
  },
};

export const KIND_DELETION_CHECKS: readonly Check<KindDeletion>[] = [IRS_34, ACK_34];

/** Returns the first resources that count, as messages name them, sorted. */
function* places(
  inventory: Inventory,
  resources: Iterable<ACKResource>,
  counts: (resource: ACKResource, selecting: readonly EffectiveSelector[]) => boolean,
): Paced<string[]> {
  const found: string[] = [];
  yield* paced(Array.from(resources), RESOURCES_BETWEEN_PAUSES, (resource) => {
    const selecting = selectingSelectors(inventory, resource);
    if (counts(resource, selecting)) found.push(placeOf(resource, accountOf({ resource, before: selecting })));
    return found.length < ENOUGH;
  });
  return found.toSorted(compareText);
}
