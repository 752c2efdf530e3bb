import { runChecks } from "../../../shared/judges.ts";
import { INVENTORY_KINDS } from "../../../shared/kinds.ts";
import { SELECTORS } from "../../../shared/ack/selectors.ts";
import { test } from "tap";
import type { DecodedSelector } from "../../../shared/ack/selector.ts";
import { SELECTOR_SELF_CHECKS } from "../../../shared/ack/judge-selector.ts";
import { Inventory } from "../../../shared/core/inventory.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import {
  bucketObject, kindObject, namespaceObject, put, ROLE, selectorObject, SETTINGS_BY_DEFAULT,
} from "../objects.ts";

/** The webhook may decode or resolve the old object once and the new object once. */
const MAX_RUNS = 2;

const SETTINGS = { ...SETTINGS_BY_DEFAULT, controllerAccount: "777788889999", region: "eu-west-1" };
const selectorIn = (name: string, namespace: string): JsonObject => (
  selectorObject(name, { arn: ROLE, namespaceSelector: { names: [namespace] } })
);

/** Returns an inventory that meets the requirements of most checks. */
function loadedInventory(): Inventory {
  const inventory = new Inventory({ runtime: "ack", origin: "cluster" }, INVENTORY_KINDS);
  const bucketKind = kindObject("Bucket", "s3.services.k8s.aws", [{ name: "v1alpha1", storage: true, served: true }]);
  inventory.apply(
    [
      selectorIn("a", "team-a"),
      selectorIn("b", "team-b"),
      namespaceObject("team-a"),
      namespaceObject("team-b"),
      bucketKind,
      bucketObject(),
      bucketObject({ namespace: "team-b" }),
    ].map(put),
  );
  return inventory;
}

test("runs each self check of a selector at most twice for an UPDATE", (t) => {
  const inventory = loadedInventory();
  const runs = new Map<string, number>();
  for (const check of SELECTOR_SELF_CHECKS) {
    const { find } = check;
    const countedFind = (subject: DecodedSelector): ReturnType<typeof find> => {
      runs.set(check.id, (runs.get(check.id) ?? 0) + 1);
      return find(subject);
    };
    Object.assign(check, { find: countedFind });
    t.teardown(() => { Object.assign(check, { find }); });
  }
  // Each check has something to read.
  const full = (namespace: string): JsonObject => selectorObject("a", {
    arn: ROLE, namespaceSelector: { names: [namespace, "team-c"], labelSelector: { matchLabels: { team: "a" } } },
    resourceTypeSelector: [{ group: "s3.services.k8s.aws", version: "", kind: "Bucket" }],
  }, { annotations: { "ack-role-resolver.io/session-tags": "team=a" } });
  const [old, object] = [full("team-a"), full("team-b")];
  const { findings } = runChecks({ object, old, requester: null, origin: "cluster", inventory }, SETTINGS);
  const selfChecks = new Set(SELECTOR_SELF_CHECKS.map(({ id }) => id));
  t.ok(findings.some(({ code }) => !selfChecks.has(code)), "the change checks run too");
  t.same(
    [...runs.keys()].toSorted(),
    SELECTOR_SELF_CHECKS.map(({ id }) => id).toSorted(),
    "every check of the selector itself runs",
  );
  for (const [id, count] of runs) t.ok(count <= MAX_RUNS, `${id} runs ${count} times`);
  const total = [...runs.values()].reduce((sum, count) => sum + count, 0);
  t.ok(total <= MAX_RUNS * SELECTOR_SELF_CHECKS.length, `${total} runs in all`);
  t.end();
});

test("resolves the role at most twice for an UPDATE of an ACK resource", (t) => {
  const inventory = loadedInventory();
  const selectors = inventory.of(SELECTORS);
  const inNamespace = selectors.inNamespace.bind(selectors);
  let resolutions = 0;
  // Counts lookups instead of resolutions, because each resolution looks up the selectors of the namespace once.
  const countedLookup: typeof inNamespace = (...args) => {
    resolutions++;
    return inNamespace(...args);
  };
  Object.assign(selectors, { inNamespace: countedLookup });
  const old = bucketObject();
  const object = bucketObject({ labels: { changed: "yes" } });
  runChecks({ object, old, requester: null, origin: "cluster", inventory }, SETTINGS);
  t.ok(resolutions > 0 && resolutions <= MAX_RUNS, `${resolutions} resolutions`);
  t.end();
});
