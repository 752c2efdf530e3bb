import { test } from "tap";
import type { Flags } from "../../../shared/server/read-settings.ts";
import { faultsOf } from "./settings-faults.ts";

test("accepts --identity-secret-namespace only with a cluster and the API group of the identities", (t) => {
  const flags: Flags = { tokenFile: "token", identitySecretNamespace: "capa-system" };
  const capa = ["s3.services.k8s.aws", "infrastructure.cluster.x-k8s.io"];
  t.same(faultsOf("sidecar", { ...flags, cluster: true, group: capa }), []);
  t.same(faultsOf("sidecar", { ...flags, from: ["m"], group: capa }), [
    "--identity-secret-namespace: requires --cluster, because manifests contain no Secrets",
  ]);
  t.same(faultsOf("sidecar", { ...flags, cluster: true, group: ["s3.services.k8s.aws"] }), [
    "--identity-secret-namespace: requires --group infrastructure.cluster.x-k8s.io, the API group of the identities",
  ]);
  t.match(faultsOf("sidecar", { ...flags, cluster: true, group: capa, identitySecretNamespace: "a/b" }), [
    /^--identity-secret-namespace: expected /,
  ]);
  t.end();
});
