import { test } from "tap";
import { readReferrer } from "../../../shared/capa/referrer.ts";
import { resourceSubject } from "../../../shared/core/event-subjects.ts";
import { clusterObject, INFRASTRUCTURE } from "../capa-objects.ts";

test("an Event names a cluster in its own version", (t) => {
  const referrer = readReferrer(clusterObject("c", null));
  if (referrer === null) throw new Error("not a cluster");
  const subject = { apiVersion: `${INFRASTRUCTURE}/v1beta2`, kind: "AWSCluster", namespace: "ns1" };
  t.same(resourceSubject({ ...referrer, uid: "uid-c" }), { ...subject, name: "c", uid: "uid-c" });
  t.same(resourceSubject({ ...referrer, name: null }), { ...subject, name: "", uid: null });
  t.end();
});
