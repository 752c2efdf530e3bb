import type { Test } from "tap";
import { policyWithBinding } from "../../../manifests/policies/policy.ts";
import { VALUE_TYPES } from "../../../shared/core/value-types.ts";
import { text } from "../../../shared/formats/cel.ts";
import type { ApiResponse } from "../apiserver/api-request.ts";
import type { Cluster } from "../apiserver/cluster.ts";
import { onCluster } from "../apiserver/on-cluster.ts";
import { until } from "../apiserver/until.ts";
import { isDeniedByPolicy } from "./installed-policies.ts";

const TYPES = Object.entries(VALUE_TYPES);

onCluster("the CEL half of each value type agrees with its other half", async (t, cluster) => {
  await installTypes(cluster);
  for (const [type, { valid, invalid }] of TYPES) {
    for (const value of valid) await judges(t, cluster, { type, value, denied: false });
    for (const value of invalid) await judges(t, cluster, { type, value, denied: true });
  }
});

/** Installs a policy that denies a ConfigMap whose `value` does not have its `type`. */
async function installTypes(cluster: Cluster): Promise<void> {
  const rules = TYPES.map(([type, { cel }]) => `object.data.type != ${text(type)} || ${cel("object.data.value")}`);
  const objects = policyWithBinding("value-types", {
    failurePolicy: "Fail",
    matchConstraints: {
      resourceRules: [{ apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"], operations: ["CREATE"] }],
    },
    matchConditions: [{ name: "typed", expression: "has(object.data) && has(object.data.type)" }],
    validations: rules.map((expression) => ({ expression })),
  });
  const input = JSON.stringify({ apiVersion: "v1", kind: "List", items: objects });
  const { code, stderr } = await cluster.kubectl(["apply", "--server-side", "--validate=strict", "-f", "-"], { input });
  if (code !== 0 || stderr !== "") throw new Error(stderr);
  const denies = async (): Promise<boolean> => isDeniedByPolicy(await created(cluster, "FILLED", ""));
  if (!(await until(denies))) throw new Error("the API server does not evaluate the policy");
}

async function created(cluster: Cluster, type: string, value: string): Promise<ApiResponse> {
  const object = { metadata: { name: "typed" }, data: { type, value } };
  return cluster.request("POST", "/api/v1/namespaces/default/configmaps?dryRun=All", object);
}

interface Vector {
  readonly type: string;
  readonly value: string;
  readonly denied: boolean;
}

async function judges(t: Test, cluster: Cluster, { type, value, denied }: Vector): Promise<void> {
  const response = await created(cluster, type, value);
  const name = `${type}: ${JSON.stringify(value).slice(0, 100)}`;
  t.equal(isDeniedByPolicy(response), denied, name);
  t.equal(response.status, denied ? 422 : 201, name);
}
