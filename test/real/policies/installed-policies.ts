import { runChecks } from "../../../shared/judges.ts";
import { INVENTORY_KINDS } from "../../../shared/kinds.ts";
import { admissionPolicies, checkPolicies, DEFAULT_POLICY_SETTINGS } from "../../../manifests/policies.ts";
import { listsOf, type PolicySettings } from "../../../manifests/policies/policy.ts";
import { ACK_GROUPS } from "../../../shared/core/ack-groups.ts";
import type { CheckInput } from "../../../shared/core/check.ts";
import { severityOf } from "../../../shared/core/plan.ts";
import type { Requester, Runtime } from "../../../shared/core/context.ts";
import { exemptionOf } from "../../../shared/core/exemptions.ts";
import { Inventory } from "../../../shared/core/inventory.ts";
import { type JsonObject, stringAt } from "../../../shared/formats/json.ts";
import { SELECTOR_SPEC_SCHEMA } from "../../../shared/core/selector-schema.ts";
import { ACK_SELECTOR_CRD } from "../../fixtures/ack-selector-crd.ts";
import { selectorObject, SETTINGS_BY_DEFAULT } from "../../shared/objects.ts";
import type { ApiResponse } from "../apiserver/api-request.ts";
import type { Cluster } from "../apiserver/cluster.ts";
import { IDENTITIES } from "../apiserver/identities.ts";
import { until } from "../apiserver/until.ts";

export const SELECTORS = "/apis/services.k8s.aws/v1alpha1/iamroleselectors";

const [VERSION] = ACK_SELECTOR_CRD.spec.versions;
const schema = { openAPIV3Schema: { type: "object", properties: { spec: SELECTOR_SPEC_SCHEMA } } };

/** A CRD of IAMRoleSelector without rules and required fields, so that only the policies deny a selector. */
export const PLAIN_CRD = {
  ...ACK_SELECTOR_CRD, spec: { ...ACK_SELECTOR_CRD.spec, versions: [{ ...VERSION, schema }] },
};

export const OPTIONS = {
  namespace: "ack-role-resolver", runtime: "ack", ackSystemNamespace: "ack-system", ackGroups: ACK_GROUPS,
} as const;

interface Installation {
  readonly settings?: Partial<PolicySettings> | undefined;
  readonly runtime?: Runtime;
  /** The spec of a selector that the policies of an earlier installation admit. Default: with a wrong ARN. */
  readonly probe?: object;
}

const PROBE = { arn: "probe", namespaceSelector: { names: ["a"] } };

/** Applies the policies. Resolves when the API server evaluates them: when they deny the probe. */
export async function installPolicies(
  cluster: Cluster, { settings = {}, runtime = "ack", probe = PROBE }: Installation = {},
): Promise<void> {
  const options = { ...OPTIONS, runtime, hasWebhooks: false } as const;
  const policies = admissionPolicies(options, listsOf({ ...DEFAULT_POLICY_SETTINGS, ...settings }));
  // The policy that denies the probe is the first one. If it is applied last, the API server then evaluates all others.
  const items = policies.toReversed();
  const input = JSON.stringify({ apiVersion: "v1", kind: "List", items });
  const { code, stderr } = await cluster.kubectl(["apply", "--server-side", "--validate=strict", "-f", "-"], { input });
  if (code !== 0 || stderr !== "") throw new Error(`the API server rejected the policies: ${stderr}`);
  const evaluates = async (): Promise<boolean> => (
    isDeniedByPolicy(await dryCreate(cluster, selectorObject("probe", probe)))
  );
  if (!(await until(evaluates))) throw new Error("the API server does not evaluate the policies");
}

export async function dryCreate(cluster: Cluster, object: object): Promise<ApiResponse> {
  return cluster.request("POST", `${SELECTORS}?dryRun=All&fieldValidation=Strict`, object);
}

export function isDeniedByPolicy({ status, body }: ApiResponse): boolean {
  return status >= 400 && (stringAt(body, "message") ?? "").includes("ValidatingAdmissionPolicy '");
}

/** Returns the ids of the checks in the denial of a policy, sorted. */
export function deniedChecks(response: ApiResponse): string[] {
  if (!isDeniedByPolicy(response)) return [];
  const message = stringAt(response.body, "message") ?? "";
  const lines = message.matchAll(/(?:denied request: |\. )((?:IRS|ACK|AC|NS|WAIVER)-[0-9]+[a-z]?) (?:spec|metadata)/g);
  return Array.from(lines, ([, id = ""]) => id).toSorted();
}

/** Returns the ids of the checks that the policies contain. */
export function coveredChecks(
  changed: Partial<PolicySettings> | undefined = {}, runtime: Runtime = "ack",
): ReadonlySet<string> {
  const settings = { ...DEFAULT_POLICY_SETTINGS, ...changed };
  const policies = checkPolicies({ ...OPTIONS, runtime, hasWebhooks: false }, listsOf(settings));
  const checks = policies.flatMap((policy) => policy.checks);
  const denying = checks.filter(({ check }) => severityOf(check, { ...settings, mode: "selectors" }) === "deny");
  return new Set(denying.map(({ check }) => check.id));
}

interface Write {
  readonly object: JsonObject;
  readonly old?: JsonObject | null;
  readonly requester?: Requester;
  readonly settings?: Partial<PolicySettings> | undefined;
  readonly runtime?: Runtime;
}

/** Returns the ids of the checks with which the webhook denies the write, sorted. The inventory is empty. */
export function webhookDenials({ object, old = null, requester, settings, runtime = "ack" }: Write): string[] {
  const operation = old === null ? "CREATE" : "UPDATE";
  if (exemptionOf({ operation, subResource: "", object, oldObject: old }) !== null) return [];
  const input: CheckInput = {
    object, old, operation, origin: "cluster", requester: requester ?? IDENTITIES.admin,
    inventory: new Inventory({ runtime, origin: "cluster" }, INVENTORY_KINDS),
  };
  const { findings } = runChecks(input, { ...SETTINGS_BY_DEFAULT, runtime, ...settings });
  return [...new Set(findings.filter(({ severity }) => severity === "deny").map(({ code }) => code))].toSorted();
}
