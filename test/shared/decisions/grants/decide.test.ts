import { test } from "tap";
import { grantInNamespace, grantRole, grantSelector } from "../../../../shared/resolution/grant-decision.ts";
import type { Grant } from "../../../../shared/resolution/grant.ts";
import { namespaceObject, SETTINGS_BY_DEFAULT } from "../objects.ts";
import { A, B, inventoryOf, S3, selector } from "./comparable-grant.ts";

const CAPA = "infrastructure.cluster.x-k8s.io";
const IN_TEAM_A = { namespace: "team-a", labels: null, unmatched: "base" } as const;
const inventory = inventoryOf([
  selector("any", A), namespaceObject("owned", {}, { "services.k8s.aws/owner-account-id": "222222222222" }),
  {
    apiVersion: "v1", kind: "ConfigMap", metadata: { name: "ack-role-account-map", namespace: "ack-system" },
    data: { "222222222222": B },
  },
]);

/** Returns the grants of each kind of request to a sidecar that serves the groups. */
function grantsOf(...groups: readonly string[]): Grant[] {
  const query = { groups, kinds: [], scope: null, settings: SETTINGS_BY_DEFAULT };
  const carm = { ...query, settings: { ...SETTINGS_BY_DEFAULT, mode: "carm" } } as const;
  return [
    grantSelector(inventory, "any", query), grantRole(inventory, A, query),
    grantInNamespace(inventory, { ...query, ...IN_TEAM_A }),
    grantRole(inventory, B, carm), grantInNamespace(inventory, { ...carm, ...IN_TEAM_A, namespace: "owned" }),
  ];
}

test("grants no role of a selector or of a CARM map for the group of CAPA", (t) => {
  const granted = [A, A, A, B, B].map((roleARN) => ({ verdict: "role", roleARN }));
  t.match(grantsOf(S3), granted);
  t.match(grantsOf(CAPA, S3), granted);
  const denied = {
    verdict: "denied", code: "ERR_SELECTOR_NOT_GRANTED",
    message: `This sidecar serves only identities of Cluster API (--group ${CAPA}), not the roles of selectors and `
      + "CARM maps. Request /v1/credentials/identities/KIND/NAME?namespace=NS, or add the API group of ACK "
      + "resources to --group.",
    selectors: [],
  };
  t.same(grantsOf(CAPA), [denied, denied, denied, denied, denied]);
  t.end();
});
