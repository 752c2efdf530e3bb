import type { Test } from "tap";
import { iamRoleSelectorCRD } from "../../../manifests/crds.ts";
import { admissionPolicies, DEFAULT_POLICY_SETTINGS } from "../../../manifests/policies.ts";
import { listsOf } from "../../../manifests/policies/policy.ts";
import { WEBHOOK } from "../../../shared/core/installation.ts";
import { CAPA_VERSION, REFERRER_KINDS } from "../../../shared/core/capa-kinds.ts";
import { ACK_CRDS, type CRD } from "../../fixtures/ack-crds.ts";
import { ACK_ADOPTED_RESOURCE_CRD } from "../../fixtures/ack-adopted-resource-crd.ts";
import { ACK_FIELD_EXPORT_CRD } from "../../fixtures/ack-field-export-crd.ts";
import { ACK_SELECTOR_CRD } from "../../fixtures/ack-selector-crd.ts";
import { CAPA_CRDS, REFERRER_CRDS } from "../../fixtures/capa/crds.ts";
import { until } from "../../real/apiserver/until.ts";
import { OPTIONS } from "../../real/policies/installed-policies.ts";
import type { PodCluster } from "../cluster.ts";
import { startCluster, withNode } from "../on-node.ts";

/** With these settings, the policies contain all expressions. */
const SETTINGS = {
  ...DEFAULT_POLICY_SETTINGS, waiverUsers: ["jane"], allowedAccounts: ["111122223333"],
  controllerRole: "arn:aws:iam::111122223333:role/controller", controllerUsers: ["controller"],
  controllerServiceAccounts: ["ack-system/ack-s3-controller"], allowedEndpointHosts: ["example.com"],
};

const NOT_SHIPPED = "awsserviceaccountidentities";
const CORE_CRDS = [ACK_FIELD_EXPORT_CRD, ACK_ADOPTED_RESOURCE_CRD] as const;

/** The fields of a ValidatingAdmissionPolicy that the test reads or changes. */
interface Policy {
  readonly kind: "ValidatingAdmissionPolicy";
  readonly metadata: { readonly name: string; readonly generation?: number };
  readonly spec: {
    readonly matchConstraints: { readonly resourceRules: readonly Rule[] };
    readonly variables?: readonly { readonly expression: string }[];
    readonly validations: readonly { readonly expression: string }[];
  };
  readonly status?: {
    readonly observedGeneration?: number;
    readonly typeChecking?: {
      readonly expressionWarnings?: readonly { readonly fieldRef: string; readonly warning: string }[];
    };
  };
}

interface Rule {
  readonly apiGroups: readonly string[];
  readonly apiVersions: readonly string[];
  readonly resources: readonly string[];
}

withNode("the type check of kube-controller-manager", async (t, found) => {
  const cluster = await startCluster(t, found);
  await cluster.api.installCRDs(ACK_CRDS.map(withTypes));
  await cluster.api.installCRDs([...CORE_CRDS, ...CAPA_CRDS, ...REFERRER_CRDS]);
  for (const [runtime, crd] of [["ack", ACK_SELECTOR_CRD], ["extended", iamRoleSelectorCRD("extended")]] as const) {
    await cluster.api.installCRDs([crd]);
    const options = { ...OPTIONS, runtime, hasWebhooks: true } as const;
    const policies = admissionPolicies(options, listsOf(SETTINGS)).filter(isPolicy);
    t.ok(policies.length > 0);
    await t.test(`finds no fault in the policies for the runtime ${runtime}`, async (tt) => {
      tt.same(await warningsOf(cluster, policies), policies.map(() => []));
    });
    await t.test(`finds no fault for existing types and in any variable (${runtime})`, async (tt) => (
      checksTypes(tt, cluster, policies.filter(readsFields).map(typed))
    ));
  }
});

async function checksTypes(t: Test, cluster: PodCluster, policies: readonly Policy[]): Promise<void> {
  t.same(await warningsOf(cluster, policies), policies.map(() => []));
  const fault = { expression: 'object.metadata.noSuchField == ""' };
  const faulty = policies.map((policy) => (
    { ...policy, spec: { ...policy.spec, validations: [...policy.spec.validations, fault] } }
  ));
  const warnings = await warningsOf(cluster, faulty);
  for (const [i, { metadata, spec }] of policies.entries()) {
    const kinds = spec.matchConstraints.resourceRules.flatMap(({ resources }) => resources);
    const found = warnings[i]?.join("\n").match(/Kind=\w+: .*undefined field 'noSuchField'/gu) ?? [];
    t.equal(found.length, new Set(kinds).size, `${metadata.name} is checked for ${kinds.join(", ")}`);
  }
}

function isPolicy(object: object): object is Policy {
  return "kind" in object && object.kind === "ValidatingAdmissionPolicy";
}

/** The policy for the service account reads objects as maps, which is possible only in rules with wildcards. */
function readsFields({ metadata }: Policy): boolean {
  return metadata.name !== `service-account.${WEBHOOK.domain}`;
}

/** Returns a definition whose status has the types of ACK's definitions (aws-controllers-k8s/runtime apis/core). */
function withTypes(crd: CRD): CRD {
  const text = { type: "string" };
  const metadata = { type: "object", properties: { arn: text, ownerAccountID: text, region: text } };
  const condition = { type: "object", properties: { type: text, status: text, reason: text, message: text } };
  const status = {
    type: "object",
    properties: { ackResourceMetadata: metadata, conditions: { type: "array", items: condition } },
  };
  const schema = { openAPIV3Schema: { type: "object", properties: { spec: { type: "object" }, status } } };
  return { ...crd, spec: { ...crd.spec, versions: crd.spec.versions.map((version) => ({ ...version, schema })) } };
}

/**
 * Returns a copy of a policy that is checked completely. kube-controller-manager does not check rules with wildcards,
 * and it reports faults only in validations. So the copy lists the installed resources, and validates all variables.
 */
function typed(policy: Policy): Policy {
  const { matchConstraints, variables = [], validations } = policy.spec;
  const resourceRules = matchConstraints.resourceRules.map(onlyShippedKinds).flatMap((rule): readonly Rule[] => {
    if (rule.resources.length === 0) return [];
    if (CORE_CRDS.some(({ spec }) => rule.resources.includes(spec.names.plural))) {
      return [{ ...rule, apiVersions: ["v1alpha1"] }];
    }
    if (REFERRER_KINDS.some(({ group }) => rule.apiGroups.includes(group))) {
      return [{ ...rule, apiVersions: [CAPA_VERSION] }];
    }
    if (!rule.resources.includes("*")) return [rule];
    const installed = ACK_CRDS.filter(({ spec }) => rule.apiGroups.includes(spec.group));
    return installed.map(({ spec }) => (
      { ...rule, apiGroups: [spec.group], apiVersions: ["v1alpha1"], resources: [spec.names.plural] }
    ));
  });
  const all = variables.map(({ expression }) => `dyn(${expression})`).join(", ");
  return {
    ...policy, metadata: { name: `typed-${policy.metadata.name}` },
    spec: {
      ...policy.spec, matchConstraints: { ...matchConstraints, resourceRules },
      validations: [...validations, { expression: `size([${all}]) > 0` }],
    },
  };
}

/**
 * Omits the kind that no version of CAPA has, and subresources: kube-controller-manager checks at most 10 kinds of a
 * policy, and a status has the type of its object.
 */
function onlyShippedKinds(rule: Rule): Rule {
  const isShipped = (resource: string): boolean => !resource.includes("/") && resource !== NOT_SHIPPED;
  return { ...rule, resources: rule.resources.filter(isShipped) };
}

/** Applies policies without bindings. Returns the warnings of each policy when all policies are checked. */
async function warningsOf(cluster: PodCluster, policies: readonly Policy[]): Promise<readonly (readonly string[])[]> {
  await cluster.apply(policies);
  const names = policies.map(({ metadata }) => metadata.name);
  let stored: readonly Policy[] = [];
  const areChecked = async (): Promise<boolean> => {
    const list = await cluster.kubectl(["get", "validatingadmissionpolicies", ...names, "-o", "json"]);
    stored = policiesIn(list).items;
    return stored.every(({ metadata, status }) => status?.observedGeneration === metadata.generation);
  };
  if (!(await until(areChecked))) throw new Error("the policies are not checked");
  return stored.map(({ status }) => (
    (status?.typeChecking?.expressionWarnings ?? []).map(({ fieldRef, warning }) => `${fieldRef}: ${warning}`)
  ));
}

function policiesIn(list: string): { readonly items: readonly Policy[] } {
  return JSON.parse(list);
}
