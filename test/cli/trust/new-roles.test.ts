import { test } from "tap";
import type { Runtime } from "../../../shared/core/context.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { drain } from "../../../shared/formats/paced.ts";
import { compareInventories } from "../../../shared/diagnosis/impact.ts";
import { NewRoles } from "../../../cli/trust/new-roles.ts";
import type { RoleCaller } from "../../../shared/trust/role-caller.ts";
import { clusterObject, identityObject, roleIdentity, staticIdentity } from "../../shared/capa-objects.ts";
import {
  bucketObject, inventoryWith, mapObject, namespaceObject, selectorObject, SETTINGS_BY_DEFAULT,
} from "../../shared/objects.ts";
import { callerOf, reviewOf } from "../../shared/trust/review.ts";
import { allow, APP, type Fields, ROLE } from "../../shared/trust/trust-cases.ts";

const OTHER = "arn:aws:iam::222222222222:role/other";

interface Circumstances {
  readonly mode?: "selectors" | "carm";
  readonly callers?: readonly RoleCaller[];
  readonly trust?: readonly Fields[];
  readonly runtime?: Runtime;
}

/** Returns `NAME VERDICT` for each role, and `KIND VERDICT REASON` for each resource that changes. */
function changes(
  before: readonly JsonObject[], after: readonly JsonObject[],
  { mode = "selectors", callers, trust = [allow({ AWS: APP })], runtime = "ack" }: Circumstances = {},
): string[] {
  const settings = { ...SETTINGS_BY_DEFAULT, mode, runtime };
  const inventories = { before: inventoryWith(before, { runtime }), after: inventoryWith(after, { runtime }) };
  const { impacts } = drain(compareInventories(inventories.before, inventories.after, settings));
  const review = reviewOf({ trust, ...(callers !== undefined && { callers }) });
  const roles = new NewRoles({ ...inventories, impacts }, review, settings);
  return [
    ...roles.rows.map(({ target, decision }) => `${target.name} ${decision.verdict}`),
    ...impacts.map((impact) => {
      const { verdict, reasons } = roles.of(impact) ?? { verdict: null, reasons: [] };
      return [impact.resource.kind, verdict, ...reasons.map((one) => one.replace(/:.*/s, ""))].join(" ");
    }),
  ];
}

function selector(name: string, arn: string, spec: object = {}): JsonObject {
  return selectorObject(name, { arn, namespaceSelector: { names: ["a"] }, ...spec });
}

const BUCKET = bucketObject({ namespace: "a", name: "b1" });
const NAMESPACE = namespaceObject("a");

test("answers for roles that change, also if no resource uses them", async (t) => {
  const [old, fine] = [selector("team-a", OTHER), selector("team-a", ROLE)];
  t.same(changes([old, NAMESPACE, BUCKET], [fine, NAMESPACE, BUCKET]), ["team-a yes", "Bucket yes"]);
  t.match(changes([fine, NAMESPACE, BUCKET], [old, NAMESPACE, BUCKET]), [
    /^team-a (unknown|no)$/, /^Bucket (unknown TR-02|no TR-01) /,
  ]);
  t.same(changes([], [fine]), ["team-a yes"]);
  t.same(changes([fine, NAMESPACE, BUCKET], [fine, NAMESPACE, BUCKET]), [], "nothing changes");
  t.same(changes([fine, NAMESPACE, BUCKET], [NAMESPACE, BUCKET]), ["Bucket "], "no object names the controller's role");
  t.same(changes([fine, NAMESPACE, BUCKET], [fine, NAMESPACE]), ["Bucket "], "it is deleted");
});

test("an answer that depends on what only AWS knows is unknown", async (t) => {
  const trust = [allow({ AWS: APP }, { Condition: { StringEquals: { "aws:PrincipalOrgID": "o-1" } } })];
  t.match(changes([NAMESPACE, BUCKET], [selector("team-a", ROLE), NAMESPACE, BUCKET], { trust }), [
    "team-a unknown", /^Bucket unknown TR-02 whether /,
  ]);
});

test("answers for a role that a resource gets from an object that stays the same", async (t) => {
  const labels = { tier: "gold" };
  const gold = selectorObject("gold", { arn: ROLE, namespaceSelector: { labelSelector: { matchLabels: labels } } });
  const after = [gold, namespaceObject("a", labels), BUCKET];
  t.same(changes([gold, NAMESPACE, BUCKET], after), ["gold yes", "Bucket yes"]);
});

test("asks only the controller of a resource", async (t) => {
  const callers = [
    callerOf({ groups: ["s3.services.k8s.aws"] }), callerOf({ arn: OTHER, groups: ["sqs.services.k8s.aws"] }),
  ];
  const queue = {
    apiVersion: "sqs.services.k8s.aws/v1alpha1", kind: "Queue", metadata: { namespace: "a", name: "q1" },
  };
  const all = [selector("team-a", ROLE), NAMESPACE, BUCKET, queue];
  const [yes, no, ...resources] = changes([NAMESPACE, BUCKET, queue], all, { callers });
  t.match([yes, no], ["team-a yes", /^team-a (no|unknown)$/]);
  t.match(resources, ["Bucket yes", /^Queue (no TR-01|unknown TR-02) /]);
  const [first] = callers;
  if (first === undefined) throw new Error("two callers");
  t.match(changes([NAMESPACE, queue], [selector("team-a", ROLE), NAMESPACE, queue], { callers: [first] }), [
    "team-a yes", "Queue unknown no known caller assumes the role; pass --caller, and its program with --via",
  ]);
});

test("answers for roles of the CARM maps and of identities", async (t) => {
  const owned = namespaceObject("a", {}, { "services.k8s.aws/owner-account-id": "222222222222" });
  const map = mapObject("ack-role-account-map", { 222222222222: ROLE });
  t.same(changes([owned, BUCKET], [owned, BUCKET, map], { mode: "carm" }), [
    "ack-role-account-map/222222222222 yes", "Bucket yes",
  ]);
  const capa = { callers: [callerOf({ via: "capa" })] };
  const cluster = clusterObject("c", "role/clusters");
  const identity = roleIdentity("clusters", null, {}, { roleARN: ROLE });
  t.same(changes([cluster], [cluster, identity], capa), ["clusters yes", "AWSCluster yes"]);
  const ofUser = roleIdentity("clusters", "static/keys", {}, { roleARN: ROLE });
  t.match(changes([cluster], [cluster, ofUser, staticIdentity("keys")], capa), [
    /^AWSCluster unknown no known caller assumes the role/,
  ], "the user of the Secret is not known");
  const keys = clusterObject("c", "static/keys");
  t.same(changes([keys], [keys, staticIdentity("keys")], capa), ["AWSCluster "], "the role of a user is not assumed");
  const pods = clusterObject("c", "account/sa");
  const account = identityObject("AWSServiceAccountIdentity", "sa", { roleARN: ROLE }, { namespace: "ns1" });
  const extended = { ...capa, runtime: "extended" } as const;
  t.same(changes([pods], [pods, account], extended), ["AWSCluster "], "a Pod of the service account assumes it");
});
