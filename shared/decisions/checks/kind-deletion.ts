import type { Inventory } from "../inventory/inventory.ts";
import type { ACKResource } from "../kubernetes/ack-resource.ts";
import { isACKGroup, SELECTOR_GROUP, SELECTOR_KIND } from "../kubernetes/kinds.ts";
import { compareText, countOf, listOf } from "../kubernetes/text.ts";
import type { Steps } from "../paced.ts";
import { accountOf } from "../resolution/change-set.ts";
import { selectingSelectors } from "../resolution/resolve.ts";
import type { EffectiveSelector } from "../selectors/effective.ts";
import type { CheckContext } from "./change.ts";
import type { Check, Found } from "./check.ts";
import { ENOUGH, placeOf } from "./message-lists.ts";

/** A CustomResourceDefinition that is to be deleted: every object of its kind goes with it, and no webhook is asked of them. */
export interface KindRemoval extends CheckContext {
  readonly group: string;
  readonly kind: string;
}

const PATH = ["spec", "names", "kind"] as const;
const RESOURCES_BETWEEN_PAUSES = 100;

export const IRS_34: Check<KindRemoval> = {
  id: "IRS-34",
  severity: "deny",
  waivable: true,
  reason: "The API server deletes every IAMRoleSelector with its definition and asks no webhook, and all that they select falls to the controller's own role.",
  fix: "delete the IAMRoleSelectors first, each of which is let go when nothing needs it",
  example: "kubectl delete crd iamroleselectors.services.k8s.aws # and team-a/b1 is selected",
  requires: ["resources"],
  on: ["DELETE"],
  ofChange: true,
  *find({ group, kind, inventory, settings }: KindRemoval): Found {
    if (group !== SELECTOR_GROUP || kind !== SELECTOR_KIND) return;
    const selectors = inventory.selectors.size + inventory.malformed.size;
    // In mode carm no selector selects anything.
    const selected = settings.mode === "carm" ? [] : yield* places(inventory, inventory.resources.all(), (_, selecting) => selecting.length > 0);
    const lost = `${countOf(selectors, SELECTOR_KIND)} would be deleted with it`;
    if (selected.length > 0) yield { path: PATH, message: `${lost}, and ${countOf(selected.length, "resource", ENOUGH)} fall to the controller's own role and account: ${listOf(selected, selected.length, ENOUGH)}` };
    else if (selectors > 0) yield { path: PATH, message: `${lost}, though nothing is selected now`, severity: "warn" };
  },
};

export const ACK_34: Check<KindRemoval> = {
  id: "ACK-34",
  severity: "deny",
  waivable: true,
  reason: "The API server deletes every resource with its definition and asks no webhook, and what each one's deletion policy says is done in AWS.",
  fix: "delete the resources first, or annotate them with services.k8s.aws/deletion-policy: retain and have one who may waive allow it",
  example: "kubectl delete crd buckets.s3.services.k8s.aws # and team-a/b1 is there",
  requires: ["resources"],
  on: ["DELETE"],
  ofChange: true,
  *find({ group, kind, inventory }: KindRemoval): Found {
    if (!isACKGroup(group)) return;
    const there = yield* places(inventory, inventory.resources.ofGroup(group), (resource) => resource.kind === kind);
    if (there.length === 0) return;
    yield { path: PATH, message: `${countOf(there.length, "resource", ENOUGH)} would be deleted with it: ${listOf(there, there.length, ENOUGH)}` };
  },
};

/** The first resources that count, as messages name them, sorted. */
function* places(inventory: Inventory, resources: Iterable<ACKResource>, counts: (resource: ACKResource, selecting: readonly EffectiveSelector[]) => boolean): Steps<string[]> {
  const found: string[] = [];
  let looked = 0;
  for (const resource of Array.from(resources)) {
    if (++looked % RESOURCES_BETWEEN_PAUSES === 0) yield null;
    const selecting = selectingSelectors(inventory, resource);
    if (counts(resource, selecting)) found.push(placeOf(resource, accountOf({ resource, before: selecting })));
    if (found.length === ENOUGH) break;
  }
  return found.toSorted(compareText);
}
