import type { Test } from "tap";
import { CAPA_CRDS, REFERRER_CRDS } from "../../../fixtures/capa/crds.ts";
import { REFERRER_KINDS } from "../../../../shared/core/capa-kinds.ts";
import type { Cluster } from "../../apiserver/cluster.ts";
import { until } from "../../apiserver/until.ts";
import { apply, installWebhook } from "../installed-webhook.ts";
import {
  collection, CONTROLLER, CONTROLLERS, create, identity, LIST, outcomeOf, referrer, refTo, remove, role, ROLES, send,
  STATICS,
} from "./objects.ts";

/** The user name of CAPA's controller. */
export const CAPA = "system:serviceaccount:capa-system:capa-controller-manager";

/** An identity whose selector does not convert, and that has a finalizer. */
const BROKEN = identity("Static", "broken", {
  secretRef: "a", allowedNamespaces: { selector: { matchLabels: { "-a": "b" } } },
}, { finalizers: ["example.com/hold"] });

/**
 * Installs CAPA's CRDs and the webhook, and creates identities and the objects that use them. Stores an identity with
 * faults before the webhook is installed.
 */
export async function installCAPA(t: Test, cluster: Cluster, flags: readonly string[] = []): Promise<void> {
  await cluster.installCRDs([...CAPA_CRDS, ...REFERRER_CRDS]);
  for (const name of ["team-a", "team-b", "capa-system"]) {
    await cluster.request("POST", "/api/v1/namespaces", { metadata: { name } });
  }
  await apply(cluster, [adminBinding()]);
  const stored = [
    create(STATICS, BROKEN), create(STATICS, identity("Static", "without-secret", { allowedNamespaces: LIST })),
  ];
  for (const change of stored) t.match(outcomeOf(await send(cluster, change)), /^201/);
  await installWebhook(t, cluster, flags);
  const chain = Array.from({ length: 8 }, (_, i) => (
    create(ROLES, role(`chain-${i + 1}`, { sourceIdentityRef: i === 0 ? CONTROLLER : refTo(`chain-${i}`) }))
  ));
  for (const change of [
    { ...create(CONTROLLERS, identity("Controller", "default", { allowedNamespaces: LIST })), as: CAPA },
    create(ROLES, role("used")),
    ...REFERRER_KINDS.map(({ kind }) => create(collection(kind), referrer(kind, "used", refTo("used")))),
    create(collection("AWSCluster"), referrer("AWSCluster", "defaulted")),
  ]) t.match(outcomeOf(await send(cluster, change)), /^201/);
  for (const change of chain) {
    // The inventory receives each identity a moment after the API server stores it.
    t.ok(await until(async () => outcomeOf(await send(cluster, change)).startsWith("201")));
  }
  const isWatched = async (): Promise<boolean> => {
    const path = `${CONTROLLERS}/default?dryRun=All`;
    const ninth = create(`${ROLES}?dryRun=All`, role("chain-9", { sourceIdentityRef: refTo("chain-8") }));
    const outcomes = [await send(cluster, remove(path)), await send(cluster, ninth)].map(outcomeOf);
    return /CI-31/.test(outcomes[0] ?? "") && /CI-25/.test(outcomes[1] ?? "");
  };
  t.ok(await until(isWatched), "the inventory has the objects");
}

/** Gives CAPA's controller all rights. */
function adminBinding(): object {
  return {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRoleBinding",
    metadata: { name: "capa" },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
    subjects: [{ kind: "ServiceAccount", namespace: "capa-system", name: "capa-controller-manager" }],
  };
}
