import type { JsonObject } from "../../../shared/formats/json.ts";
import {
  clusterObject, controllerIdentity, identityObject, roleARN, roleIdentity, staticIdentity,
} from "../capa-objects.ts";
import { namespaceObject, withWaiver } from "../objects.ts";
import { testRows } from "../rows.ts";
import { type CapaInput, capaLines } from "../core/capa-lines.ts";

const SELECTING = { selector: { matchLabels: { team: "a" } } };
const IDENTITIES = [
  controllerIdentity(), staticIdentity("s", SELECTING), staticIdentity("listed", { list: ["ns1"], ...SELECTING }),
  roleIdentity("r", "static/s"), roleIdentity("all"), roleIdentity("missing", "static/none"),
];
const C1 = clusterObject("c1", "static/s");
const A = { team: "a" };
const B = { team: "b" };

type Input = readonly [from: JsonObject | null, to: JsonObject, objects: readonly JsonObject[], more?: CapaInput];
/** Returns the findings of NS-12 if the labels of namespace ns1 change. */
function lines([from, to, objects, more = {}]: Input): string[] {
  const stored = from === null ? [] : [namespaceObject("ns1", from)];
  const change = { ...(stored[0] && { old: stored[0] }), objects: [...IDENTITIES, ...stored, ...objects] };
  return capaLines("NS-12", namespaceObject("ns1", to), { ...change, ...more });
}

const line = (list: string): string => (
  `deny NS-12 metadata.labels: with the new labels, an identity no longer allows the namespace for ${list}. Set `
    + 'metadata.labels[team] to "a".'
);
const OF_C1 = line('1 object: AWSCluster ns1/c1 (AWSClusterStaticIdentity "s")');
const account = identityObject("AWSServiceAccountIdentity", "sa", { roleARN: roleARN("a") }, { namespace: "ns1" });

testRows("NS-12 denies a label change after which an identity no longer allows the namespace of a cluster", lines, [
  ["another label", [A, B, [C1]], OF_C1],
  ["also by the source of a chain", [A, {}, [clusterObject("c2", "role/r"), C1, clusterObject("c3", "role/all")]],
    line('2 objects: AWSCluster ns1/c1 (AWSClusterStaticIdentity "s") and AWSCluster ns1/c2 '
      + '(AWSClusterStaticIdentity "s")')],
  ["no change", [A, A, [C1]]],
  ["a further label", [A, { ...A, x: "1" }, [C1]]],
  ["the identity did not allow the namespace before", [B, { team: "c" }, [C1]]],
  ["the identity allows the namespace after", [B, A, [C1]]],
  ["the namespace is listed, or no identity is named",
    [A, {}, [clusterObject("c", "static/listed"), clusterObject("d", null)]]],
  ["the chain was broken before", [A, {}, [clusterObject("c", "role/missing")]]],
  ["another namespace", [A, {}, [clusterObject("c", "static/s", "ns2")]]],
  ["no identity", [A, {}, [{ ...clusterObject("c", null), kind: "ROSANetwork" }]]],
  ["a service account identity", [A, {}, [account, clusterObject("c", "account/sa")]]],
  ["the labels in the request count, not those in the inventory", [A, B, [namespaceObject("ns1", B), C1]], OF_C1],
  ["at CREATE", [null, {}, [C1]]],
  ["at DELETE", [null, A, [C1, namespaceObject("ns1", A)], { operation: "DELETE" }]],
  ["at most 20 objects", [A, {}, Array.from({ length: 30 }, (_, i) => clusterObject(`c${i}`, "static/s"))],
    /for at least 20 objects: .* and others\. Set/],
]);

testRows("NS-12 can be waived", (id: string) => {
  const old = namespaceObject("ns1", A);
  return capaLines("NS-12", withWaiver(namespaceObject("ns1"), id), { old, objects: [...IDENTITIES, old, C1] });
}, [["its id", "NS-12", /^warn NS-12 /], ["another id", "NS-13", /^deny NS-12 /]]);

const OBJECTS = [C1, clusterObject("c2", null), clusterObject("x", null, "ns2"),
  { ...clusterObject("t", null), kind: "AWSClusterTemplate" }];
testRows("NS-13 warns if the deletion of a namespace also deletes objects of Cluster API",
  ([name, operation]: [string, "DELETE" | "CREATE"]) =>
    capaLines("NS-13", namespaceObject(name), { objects: OBJECTS, operation }), [
    ["two objects", ["ns1", "DELETE"],
      "warn NS-13 metadata.name: the deletion of the namespace also deletes 2 objects of Cluster API: AWSCluster "
        + "ns1/c1 "
        + "and AWSCluster ns1/c2. Do not change the namespace's labels or the identities until the namespace is "
        + "deleted."],
    ["no object", ["ns3", "DELETE"]],
    ["the check runs only at DELETE", ["ns1", "CREATE"]],
  ]);
