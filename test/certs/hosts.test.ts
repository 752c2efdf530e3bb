import { join } from "node:path";
import { test } from "tap";
import { serviceHosts, verifiedHosts } from "../../certs/hosts.ts";

test("the names of the Service are the names that the API server and Pods use", (t) => {
  t.same(serviceHosts("team"), [
    "ack-role-resolver-webhook.team.svc", "ack-role-resolver-webhook.team.svc.cluster.local",
  ]);
  t.end();
});

test("a certificate of --tls-dir is verified for --tls-host, else in a Pod for the Service", async (t) => {
  const namespaceFile = join(t.testdir({ namespace: "team\n" }), "namespace");
  t.same(await verifiedHosts(["a.svc"], namespaceFile), ["a.svc"]);
  t.same(await verifiedHosts([], namespaceFile), ["ack-role-resolver-webhook.team.svc"]);
  t.same(await verifiedHosts([], `${namespaceFile}-missing`), [], "outside of a Pod, the name is not known");
});
