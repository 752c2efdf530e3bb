import { test } from "tap";
import { clusterObject, controllerIdentity } from "../capa-objects.ts";
import { capaLines } from "../core/capa-lines.ts";

test("CI-07: warns about a new controller identity that does not allow the namespaces of its users", (t) => {
  const objects = [clusterObject("c", null), clusterObject("other", "role/none")];
  const created = controllerIdentity({ list: [] });
  t.match(capaLines("CI-07", created, { objects }), [
    /^warn CI-07 spec: 1 object uses the identity: AWSCluster ns1\/c, but it does not allow their namespaces\./,
  ]);
  t.same(capaLines("CI-07", controllerIdentity({ list: ["ns1"] }), { objects }), []);
  t.same(capaLines("CI-07", created, { objects, origin: "file" }), [], "AC-02 reports the cluster");
  t.end();
});
