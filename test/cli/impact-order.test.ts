import { test } from "tap";
import type { JsonObject } from "../../shared/formats/json.ts";
import { clusterObject, controllerIdentity, roleIdentity } from "../shared/capa-objects.ts";
import { bucketObject, existingBucket, mapObject, namespaceObject, ROLE, selectorObject } from "../shared/objects.ts";
import { runCommand } from "./run-command.ts";

interface Order {
  readonly state: readonly JsonObject[];
  readonly change: readonly JsonObject[];
  readonly argv?: readonly string[];
  /** What the webhook denies of the changes in their order, and in the reverse order. */
  readonly denied: readonly [inOrder: readonly string[], inReverse: readonly string[]];
}

const CLUSTER = clusterObject("c1", "role/new");
const NEW = roleIdentity("new", "role/base");
const OWNED = namespaceObject("team-a", {}, { "services.k8s.aws/owner-account-id": "111122223333" });
const MAP = "ack-role-account-map";
const BY_NAMESPACE = selectorObject("by-namespace", { arn: ROLE, namespaceSelector: { names: ["team-a"] } });
const BY_LABEL = selectorObject("by-label", { arn: ROLE, resourceLabelSelector: { matchLabels: { tier: "gold" } } });
const BUCKET = bucketObject({ labels: { tier: "gold" } });

const REPLACEMENT = selectorObject("replacement", { arn: ROLE, namespaceSelector: { names: ["team-a"] } }, {
  annotations: { "ack-role-resolver.io/replaces": "by-namespace" },
});
const OTHER = selectorObject("other", { arn: ROLE, namespaceSelector: { names: ["team-b"] } });
const ELSEWHERE = existingBucket("b1", "111122223333");

const ORDERS: readonly (readonly [title: string, order: Order])[] = [
  ["an identity before the cluster that changes to it", {
    state: [namespaceObject("ns1"), controllerIdentity(), roleIdentity("old"), clusterObject("c1", "role/old")],
    change: [roleIdentity("base"), NEW, CLUSTER], denied: [[], ["AC-01 AWSCluster c1"]],
  }],
  ["the source of an identity before the identity", {
    state: [namespaceObject("ns1"), controllerIdentity(), roleIdentity("new"), CLUSTER],
    change: [roleIdentity("base"), NEW], denied: [[], ["CI-07 AWSClusterRoleIdentity new"]],
  }],
  ["a key of a CARM map before the namespace that names it", {
    state: [mapObject(MAP, {}), namespaceObject("team-a"), BUCKET], argv: ["--mode", "carm"],
    change: [mapObject(MAP, { 111122223333: ROLE }), OWNED], denied: [[], ["NS-03 Namespace team-a"]],
  }],
  ["a selector beside another one for the same resource", {
    state: [namespaceObject("team-a"), BUCKET],
    change: [BY_NAMESPACE, BY_LABEL],
    denied: [["IRS-17 IAMRoleSelector by-label"], ["IRS-17 IAMRoleSelector by-namespace"]],
  }],
  ["a deletion of the cluster, which exists until CAPA has deleted it, before that of its identity", {
    state: [namespaceObject("ns1"), controllerIdentity(), roleIdentity("new"), CLUSTER], argv: ["--delete"],
    change: [CLUSTER, roleIdentity("new")],
    denied: [["CI-31 AWSClusterRoleIdentity new"], ["CI-31 AWSClusterRoleIdentity new"]],
  }],
  ["a deletion of the only selector, without which manifests say nothing about roles", {
    state: [namespaceObject("team-a"), OTHER, ELSEWHERE], change: [OTHER, ELSEWHERE],
    argv: ["--delete", "--controller-account", "777788889999"],
    denied: [["ACK-30 Bucket b1"], ["ACK-30 Bucket b1"]],
  }],
  ["a deletion of two selectors of which each would keep the role", {
    state: [namespaceObject("team-a"), BY_NAMESPACE, REPLACEMENT, BUCKET], argv: ["--delete"],
    change: [BY_NAMESPACE, REPLACEMENT],
    denied: [["IRS-30 IAMRoleSelector replacement"], ["IRS-30 IAMRoleSelector by-namespace"]],
  }],
  ["a deletion of an identity before that of its source", {
    state: [namespaceObject("ns1"), controllerIdentity(), roleIdentity("base"), NEW], argv: ["--delete"],
    change: [NEW, roleIdentity("base")], denied: [[], []],
  }],
];

interface Finding {
  readonly code: string;
  readonly severity: string;
  readonly kind: string;
  readonly name: string;
}

function denialsIn({ findings }: { readonly findings: readonly Finding[] }): readonly string[] {
  return findings.filter(({ severity }) => severity === "deny")
    .map(({ code, kind, name }) => `${code} ${kind} ${name}`);
}

test("impact judges each change against the state that those before it leave", async (t) => {
  for (const [title, order] of ORDERS) {
    const from = t.testdir({ "state.yaml": order.state.map((object) => JSON.stringify(object)).join("\n---\n") });
    for (const [i, change] of [order.change, order.change.toReversed()].entries()) {
      const stdin = change.map((object) => JSON.stringify(object)).join("\n---\n");
      const argv = ["impact", "--from", from, "-", "-o", "json", ...order.argv ?? []];
      const { stdout } = await runCommand(argv, { stdin });
      t.same(denialsIn(JSON.parse(stdout)), order.denied[i], `${title}${i === 0 ? "" : ", reversed"}`);
    }
  }
});
