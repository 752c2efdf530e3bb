import { join } from "node:path";
import { test } from "tap";
import { serviceHosts, verifiedHosts } from "../../certs/hosts.ts";

test("the names of the Service are the names that the API server and Pods use", (t) => {
  t.same(serviceHosts("team"), [
    "ack-role-resolver-webhook.team.svc", "ack-role-resolver-webhook.team.svc.cluster.local",
  ]);
  t.end();
});

test("a certificate of --tls-dir is verified for the host of --url, else in a Pod for the Service", async (t) => {
  const namespaceFile = join(t.testdir({ namespace: "team\n" }), "namespace");
  t.same(await verifiedHosts("https://a.svc:8443/", namespaceFile), ["a.svc"]);
  t.same(await verifiedHosts("https://[fd00::1]", namespaceFile), ["fd00::1"]);
  t.same(await verifiedHosts(null, namespaceFile), ["ack-role-resolver-webhook.team.svc"]);
  t.same(await verifiedHosts(null, `${namespaceFile}-missing`), [], "outside of a Pod, the name is not known");
});
