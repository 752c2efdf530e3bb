import { test } from "tap";
import type { JsonObject } from "../../../../../shared/formats/json.ts";
import {
  clusterObject, controllerIdentity, identityObject, roleARN, roleIdentity, staticIdentity,
} from "../../identities/objects.ts";
import { namespaceObject, withWaiver } from "../../objects.ts";
import { type CapaInput, capaLines } from "../capa-lines.ts";

const TEAM_A = { selector: { matchLabels: { team: "a" } } };
const IDENTITIES = [
  controllerIdentity(), staticIdentity("s", TEAM_A), staticIdentity("listed", { list: ["ns1"], ...TEAM_A }),
  roleIdentity("r", "static/s"), roleIdentity("all"), roleIdentity("missing", "static/none"),
];
const C1 = clusterObject("c1", "static/s");

/** Returns the findings of NS-12 if the labels of namespace ns1 change. */
function lines(from: JsonObject, to: JsonObject, objects: readonly JsonObject[], more: CapaInput = {}): string[] {
  const old = namespaceObject("ns1", from);
  return capaLines("NS-12", namespaceObject("ns1", to), { old, objects: [...IDENTITIES, old, ...objects], ...more });
}

const FIX = "Keep the labels that the identities select, or first add the namespace to allowedNamespaces.list of the "
  + "identities.";
const line = (list: string): string => (
  `deny NS-12 metadata.labels: with the new labels, an identity no longer allows the namespace for ${list}. ${FIX}`
);

test("NS-12 denies a label change after which an identity no longer allows the namespace of a cluster", (t) => {
  t.same(lines({ team: "a" }, { team: "b" }, [C1]), [
    line('1 object: AWSCluster ns1/c1 (AWSClusterStaticIdentity "s")'),
  ]);
  t.same(lines({ team: "a" }, {}, [clusterObject("c2", "role/r"), C1, clusterObject("c3", "role/all")]), [
    line('2 objects: AWSCluster ns1/c1 (AWSClusterStaticIdentity "s") and AWSCluster ns1/c2 '
      + '(AWSClusterStaticIdentity "s")'),
  ], "also by the source of a chain");
  t.end();
});

test("NS-12 accepts a label change that no cluster of the namespace notices", (t) => {
  t.same(lines({ team: "a" }, { team: "a" }, [C1]), []);
  t.same(lines({ team: "a" }, { team: "a", x: "1" }, [C1]), []);
  t.same(lines({ team: "b" }, { team: "c" }, [C1]), [], "the identity did not allow the namespace before");
  t.same(lines({ team: "b" }, { team: "a" }, [C1]), []);
  t.same(lines({ team: "a" }, {}, [clusterObject("c", "static/listed"), clusterObject("d", null)]), []);
  t.same(lines({ team: "a" }, {}, [clusterObject("c", "role/missing")]), [], "the chain was broken before");
  t.same(lines({ team: "a" }, {}, [clusterObject("c", "static/s", "ns2")]), [], "another namespace");
  t.same(lines({ team: "a" }, {}, [{ ...clusterObject("c", null), kind: "ROSANetwork" }]), [], "no identity");
  const account = identityObject("AWSServiceAccountIdentity", "sa", { roleARN: roleARN("a") }, { namespace: "ns1" });
  t.same(lines({ team: "a" }, {}, [account, clusterObject("c", "account/sa")]), []);
  t.end();
});

test("NS-12 compares the labels in the request, not those in the inventory, and runs only at UPDATE", (t) => {
  const stale = namespaceObject("ns1", { team: "b" });
  t.same(lines({ team: "a" }, { team: "b" }, [stale, C1]).length, 1);
  const objects = [...IDENTITIES, C1];
  t.same(capaLines("NS-12", namespaceObject("ns1"), { objects }), []);
  const deleted = namespaceObject("ns1", { team: "a" });
  t.same(capaLines("NS-12", deleted, { objects: [...objects, deleted], operation: "DELETE" }), []);
  t.end();
});

test("NS-12 can be waived, and stops after 20 objects", (t) => {
  const old = namespaceObject("ns1", { team: "a" });
  const objects = [...IDENTITIES, old, C1];
  t.match(capaLines("NS-12", withWaiver(namespaceObject("ns1"), "NS-12"), { old, objects }), [/^warn NS-12 /]);
  const many = Array.from({ length: 30 }, (_, i) => clusterObject(`c${i}`, "static/s"));
  t.match(lines({ team: "a" }, {}, many), [/for at least 20 objects: .* and others\. Keep/]);
  t.end();
});

test("NS-13 warns if the deletion of a namespace also deletes objects of Cluster API", (t) => {
  const objects = [C1, clusterObject("c2", null), clusterObject("x", null, "ns2"),
    { ...clusterObject("t", null), kind: "AWSClusterTemplate" }];
  const deletion = (name: string): string[] => (
    capaLines("NS-13", namespaceObject(name), { objects, operation: "DELETE" })
  );
  t.same(deletion("ns1"), [
    "warn NS-13 metadata.name: the deletion of the namespace also deletes 2 objects of Cluster API: AWSCluster ns1/c1 "
    + "and AWSCluster ns1/c2. Do not change the namespace's labels or the identities until the namespace is deleted.",
  ]);
  t.same(deletion("ns3"), []);
  t.same(capaLines("NS-13", namespaceObject("ns1"), { objects }), [], "the check runs only at DELETE");
  t.end();
});
