import { test } from "tap";
import { isACKController, isClusterCleanup } from "../../../shared/decisions/exemptions.ts";
import { Inventory } from "../../../shared/decisions/inventory/inventory.ts";
import { namespaceObject, put } from "./objects.ts";

const by = (username: string): { readonly username: string; readonly groups: readonly string[] } => ({ username, groups: ["system:masters"] });

test("an ACK controller is one whose service account is named, and nobody else", (t) => {
  const settings = { controllerServiceAccounts: ["ack-system/ack-s3-controller"] };
  t.ok(isACKController(by("system:serviceaccount:ack-system:ack-s3-controller"), settings));
  for (const username of ["system:serviceaccount:ack-system:ack-iam-controller", "system:serviceaccount:team-a:ack-s3-controller", "ack-s3-controller", ""]) {
    t.notOk(isACKController(by(username), settings), username);
  }
  t.notOk(isACKController(by("system:serviceaccount:ack-system:ack-s3-controller"), { controllerServiceAccounts: [] }));
  t.end();
});

test("the cluster cleans up where a namespace goes, or by two controllers of kube-system", (t) => {
  const inventory = new Inventory({ runtime: "ack", origin: "cluster" });
  const going = namespaceObject("going");
  inventory.apply([
    put(namespaceObject("team-a")),
    put({ ...going, metadata: { name: "going", deletionTimestamp: "2026-03-01T12:00:00Z" } }),
    put({ ...namespaceObject("gone"), status: { phase: "Terminating" } }),
  ]);
  const deletion = { operation: "DELETE", namespace: "team-a", requester: by("jane") } as const;
  t.notOk(isClusterCleanup(deletion, inventory));
  t.ok(isClusterCleanup({ ...deletion, namespace: "going" }, inventory));
  t.ok(isClusterCleanup({ ...deletion, namespace: "gone" }, inventory));
  t.notOk(isClusterCleanup({ ...deletion, namespace: "" }, inventory));
  for (const name of ["namespace-controller", "generic-garbage-collector"]) {
    t.ok(isClusterCleanup({ ...deletion, namespace: "", requester: by(`system:serviceaccount:kube-system:${name}`) }, inventory), name);
    t.notOk(isClusterCleanup({ ...deletion, requester: by(`system:serviceaccount:team-a:${name}`) }, inventory), "of another namespace");
    t.notOk(isClusterCleanup({ ...deletion, operation: "UPDATE", requester: by(`system:serviceaccount:kube-system:${name}`) }, inventory), "no deletion");
  }
  t.end();
});
