import { test } from "tap";
import { clusterObject, roleIdentity } from "../capa-objects.ts";
import { kindObject } from "../objects.ts";
import { type CapaCase, capaLines, testCases } from "../core/capa-lines.ts";

const CASES: readonly CapaCase[] = [
  ["CI-33", "an old version", { ...roleIdentity("r"), apiVersion: "infrastructure.cluster.x-k8s.io/v1alpha3" },
    [/^deny CI-33 apiVersion: version "v1alpha3" of infra.* is not served; expected v1beta1 or v1beta2/]],
  ["CI-33", "a kind that does not exist", { ...roleIdentity("r"), kind: "AWSClusterIdentityIdentity" },
    [/^deny CI-33 kind: "AWSClusterIdentityIdentity" is not a kind of CAPA; expected AWSCluster.*, .* or .*\. Write/]],
  ["CI-33", "a misspelled group", { ...roleIdentity("r"), apiVersion: "infrastructure.cluster.xk8s.io/v1beta2" },
    [/^deny CI-33 apiVersion: "AWSClusterRoleIdentity" is not in group "infra.*; expected infra.* Write .*beta2"\.$/]],
  ["CI-33", "a misspelled kind of a cluster", { ...clusterObject("c", null), kind: "AWSClutser" },
    [/^deny CI-33 kind: "AWSClutser" is not a kind of CAPA; expected AWSCluster\. Write/]],
  ["CI-33", "a control plane in the group of the identities", { ...clusterObject("c", null), kind: "ROSAControlPlane" },
    [/^deny CI-33 apiVersion: "ROSAControlPlane" is not in group .*expected controlplane\.cluster\.x-k8s\.io/]],
  ["CI-33", "a misspelled version of a cluster", { ...clusterObject("c", null),
    apiVersion: "infrastructure.cluster.x-k8s.io/v1bata2" }, [/^deny CI-33 apiVersion: version "v1bata2" of /],
    { origin: "file" }],
  ["CI-33", "a version of a cluster that a cluster serves", { ...clusterObject("c", null),
    apiVersion: "infrastructure.cluster.x-k8s.io/v1beta9" }, []],
  ["CI-33", "other kinds of Cluster API", { ...clusterObject("c", null), kind: "AWSManagedCluster" }, []],
  ["CI-33", "a misspelled kind of an identity", { ...roleIdentity("r"), kind: "AWSClusterRolIdentity" },
    [/"AWSClusterRolIdentity" is not a kind of CAPA; expected AWSClusterRoleIdentity\. Write/]],
];
testCases(CASES);

test("CI-33: the versions that the CRD serves are accepted", (t) => {
  const versions = [{ name: "v1beta3", storage: true, served: true }];
  const objects = [kindObject("AWSClusterRoleIdentity", "infrastructure.cluster.x-k8s.io", versions)];
  const later = { ...roleIdentity("r"), apiVersion: "infrastructure.cluster.x-k8s.io/v1beta3" };
  t.same(capaLines("CI-33", later, { objects }), []);
  t.match(capaLines("CI-33", roleIdentity("r"), { objects }), [/version "v1beta2" .* not served; expected v1beta3/]);
  t.end();
});
