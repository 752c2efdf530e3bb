import { test } from "tap";
import { isOfUnknownKind, unjudgedLines, unjudgedText } from "../../../shared/files/unjudged.ts";

test("one line says how many objects were not judged, and why", (t) => {
  t.equal(unjudgedText({}), null);
  t.equal(unjudgedText({}, 1467), "1,467 objects not judged: no ACK or CAPA kind");
  t.equal(unjudgedText({ patch: 1 }), "1 object not judged: in Kustomize patches");
  t.equal(unjudgedText({ reference: 3, patch: 1200 }, 2), "1,205 objects not judged: no ACK or CAPA kind (2), "
    + "in Kustomize patches (1,200), references to identities in variables or unknown fields (3)");
  t.end();
});

test("the details are how to have the objects judged, their files and their kinds", (t) => {
  t.same(unjudgedLines([]), []);
  t.same(unjudgedLines([
    { file: "a.yaml", reason: "patch", count: 2 }, { file: null, reason: "unlisted", count: 1 },
    { file: "b.yaml", reason: "patch", count: 1 },
  ], [
    { kind: "Deployment", count: 1467, files: new Map([["a.yaml", 1466], ["b.yaml", 1]]) },
    { kind: "Service", count: 2, files: new Map() },
  ]), [
    "not judged: no ACK or CAPA kind",
    "    Deployment: 1,467",
    "        a.yaml: 1,466",
    "        b.yaml: 1",
    "    Service: 2",
    "not judged: in Kustomize patches; to judge them: kubectl kustomize DIR | ack-role-resolver lint -",
    "    a.yaml: 2",
    "    b.yaml: 1",
    "not judged: kinds that the cluster does not list; to judge them: grant the right to list them",
  ]);
  t.end();
});

test("an unknown kind of a group of CAPA is no other kind", (t) => {
  const ofKind = (apiVersion: string, kind: string): boolean => isOfUnknownKind({ apiVersion, kind, metadata: {} });
  t.equal(ofKind("apps/v1", "Deployment"), false);
  t.equal(ofKind("infrastructure.cluster.x-k8s.io/v1beta9", "AWSFleet"), false, "without a reference to an identity");
  t.end();
});
