import type { ACKResource } from "../../kubernetes/ack-resource.ts";
import { compareText } from "../../kubernetes/text.ts";
import { accountBy, accountOf, type Transition, transitionsOfNamespace } from "../../resolution/change-set.ts";
import { controllerAccountOf } from "../../resolution/resolve.ts";
import type { Fault, QuickCheck, ScanningCheck } from "../check.ts";
import { ENOUGH, tellOf } from "../message-lists.ts";
import type { NamespaceChange } from "./change.ts";

/** What new labels do to a resource, as a sentence about how many it is done to. */
interface Effect {
  readonly sentence: (count: string) => string;
  readonly harmless: boolean;
}

export const NS_01: ScanningCheck<NamespaceChange> = {
  id: "NS-01",
  severity: "deny",
  waivable: true,
  reason: "The labels of a namespace decide which IAMRoleSelectors select its resources. Controllers notice a change only at their next resync, and then stop at another account for ever, or work with their own role.",
  fix: "keep the labels that select these resources, or change the selectors first so that each resource keeps its account",
  example: "metadata: {labels: {env: dev}} # was prod, which a selector of another account selects by",
  requires: ["resources"],
  on: ["UPDATE"],
  ofChange: true,
  *scan({ inventory, name, settings, stored, state }) {
    if (settings.mode === "carm" || stored === null || sameLabels(stored.labels, state.labels)) return [];
    const own = controllerAccountOf(settings);
    const affected = new Affected();
    yield* transitionsOfNamespace(inventory, name, state.labels, (transition) => {
      affected.add(transition.resource, effectOf(transition, own));
      return affected.harmed < ENOUGH;
    });
    return [...affected.faults()];
  },
};

/** The resources that a change affects, by what it does to them. */
class Affected {
  readonly #groups = new Map<string, { readonly effect: Effect; readonly resources: ACKResource[] }>();
  harmed = 0;

  add(resource: ACKResource, effect: Effect | null): void {
    if (effect === null) return;
    const key = effect.sentence("");
    const group = this.#groups.get(key) ?? { effect, resources: [] };
    group.resources.push(resource);
    this.#groups.set(key, group);
    if (!effect.harmless) this.harmed++;
  }

  *faults(): Iterable<Fault> {
    for (const { effect, resources } of this.#groups.values()) {
      const message = tellOf(resources, effect.sentence, this.harmed === ENOUGH);
      yield { path: ["metadata", "labels"], message, ...(effect.harmless && { severity: "warn" }) };
    }
  }
}

/** The IAMRoleSelectors that select something in the namespace by the change, and did not before. */
export function selectorsGained({ inventory, name, stored, state }: Pick<NamespaceChange, "inventory" | "name" | "stored" | "state">): readonly string[] {
  const before = new Set(stored === null ? [] : inventory.selectorsOfNamespace(name, stored.labels));
  return inventory.selectorsOfNamespace(name, state.labels).flatMap((selector) => (before.has(selector) ? [] : [selector.name])).toSorted(compareText);
}

export const NS_02: QuickCheck<NamespaceChange> = {
  id: "NS-02",
  severity: "off",
  waivable: false,
  reason: "Whoever may label a namespace chooses the roles of what is in it. With this check only who is granted the verb `use` on the selectors may.",
  fix: "grant the requester the verb use on the selector: a ClusterRole with resources iamroleselectors, resourceNames and verbs use",
  example: "kubectl label namespace sandbox env=prod # of a user without the verb use on the IAMRoleSelector that selects env: prod",
  requires: ["access reviews"],
  ofChange: true,
  *find(change): Iterable<Fault> {
    const path = ["metadata", "labels"];
    for (const selector of change.settings.mode === "carm" ? [] : selectorsGained(change)) {
      const answer = change.access?.get(selector) ?? "unknown";
      if (answer === "denied") yield { path, message: `the requester may not use IAMRoleSelector ${selector}, which comes to select the namespace` };
      if (answer === "unknown") {
        const message = `whether the requester may use IAMRoleSelector ${selector}, which comes to select the namespace, could not be found out`;
        yield { path, message, fix: "try again in a moment; the webhook's log says why the access review failed" };
      }
    }
  },
};

function sameLabels(a: ReadonlyMap<string, string>, b: ReadonlyMap<string, string>): boolean {
  return a.size === b.size && [...a].every(([key, value]) => b.get(key) === value);
}

function effectOf(transition: Transition, own: string | null): Effect | null {
  const { after, before } = transition;
  if (before.length === after.length && before.every((selector) => after.includes(selector))) return null;
  if (after.length > 1) return before.length > 1 ? null : conflict(after.map(({ name }) => name).toSorted(compareText));
  return after.length === 0 ? unselected(transition, own) : selected(transition, own);
}

function conflict(names: readonly string[]): Effect {
  const list = names.join(", ");
  return { harmless: false, sentence: (count) => `the new labels let several IAMRoleSelectors (${list}) select ${count} at once, where controllers stop` };
}

function unselected(transition: Transition, own: string | null): Effect {
  const account = accountOf(transition, own);
  if (account !== null && account === own) return otherRole();
  const was = account === null ? "" : ` of account ${account}`;
  return { harmless: false, sentence: (count) => `the new labels leave ${count}${was} to the controllers' own role` };
}

function selected(transition: Transition, own: string | null): Effect | null {
  const { after, before, resource } = transition;
  const from = accountOf(transition, own);
  const to = accountBy(after, own);
  // Several become one: the conflict ends, in the account that the resource is in if it is in any.
  if (before.length > 1 && (from === null || from === to)) return null;
  // What was never made in AWS is made where it is selected to.
  if (from === null || from === to || !resource.created) return before[0]?.roleARN === after[0]?.roleARN ? null : otherRole();
  return { harmless: false, sentence: (count) => `the new labels move ${count} from account ${from} to account ${to}` };
}

function otherRole(): Effect {
  return { harmless: true, sentence: (count) => `the new labels give ${count} another role` };
}
