// Renders the policies as a template of the Helm chart. The settings change only lists in the CEL expressions.
// templates/_policies.tpl computes these lists from the values.
import { Document, visit } from "yaml";
import { stringAt } from "../shared/decisions/kubernetes/json.ts";
import { admissionPolicies, type PolicyOptions } from "./policies.ts";
import type { PolicySettings, SelectorFailurePolicy } from "./policies/policy.ts";
import { YAML_OPTIONS } from "./render.ts";

/** Settings with a placeholder in each list. The partition of the controllers' role is a list too. */
const PLACEHOLDERS: PolicySettings = {
  checkSeverities: new Map([["~disabledChecks", "off"]]),
  waiverUsers: ["~waiverUsers"],
  waiverGroups: ["~waiverGroups"],
  allowedAccounts: ["~allowedAccounts"],
  controllerRole: "arn:~allowedPartitions:iam:::",
  controllerServiceAccounts: ["~controllerServiceAccounts"],
  controllerUsers: ["~controllerUsers"],
  capaServiceAccounts: ["~capaServiceAccounts"],
  allowedEndpointHosts: ["~allowedHosts"],
};

/** A CEL list with a placeholder, such as `["~waiverUsers"]` or `["(?s)^~controllerUsers$"]`. */
const LIST = /\["[^"~]*~(\w+)[^"]*"\]/g;

const LISTS = '{{- $lists := include "ack-role-resolver.policyLists" . | fromJson }}\n';

type Variant = Pick<PolicyOptions, "runtime" | "failurePolicy">;

/** Returns the template of the policies, which depend on the runtime and on the failurePolicy of the webhooks. */
export function policiesTemplate(options: Omit<PolicyOptions, keyof Variant>): string {
  const byName = (variant: Variant): ReadonlyMap<string, string> => new Map(
    admissionPolicies({ ...options, ...variant }, PLACEHOLDERS).map((one) => [nameOf(one), withLists(one)]),
  );
  const ofFailurePolicy = (failurePolicy: SelectorFailurePolicy): ((name: string) => string) => {
    const [extended, ack] = (["extended", "ack"] as const).map((runtime) => byName({ runtime, failurePolicy }));
    return (name) => choice('eq .Values.runtime "extended"', extended?.get(name) ?? "", ack?.get(name) ?? "");
  };
  const [fail, ignore] = [ofFailurePolicy("Fail"), ofFailurePolicy("Ignore")];
  const names = [...byName({ runtime: "ack", failurePolicy: "Ignore" }).keys()];
  const documents = names.map((name) => choice(FAILS, fail(name), ignore(name)));
  return `{{- if .Values.policies.enabled }}\n${LISTS}${documents.join("")}{{- end }}\n`;
}

const FAILS = 'eq (include "ack-role-resolver.failurePolicy" .) "Fail"';

function choice(condition: string, one: string, other: string): string {
  return one === other ? one : `{{- if ${condition} }}\n${one}{{- else }}\n${other}{{- end }}\n`;
}

/** Returns the kind and the name of an object: a policy and its binding have the same name. */
function nameOf(object: object): string {
  return `${stringAt(object, "kind")} ${stringAt(object, "metadata", "name")}`;
}

/** Returns the object as YAML, with a template expression for each list of a setting. */
function withLists(object: object): string {
  const document = new Document(object, YAML_OPTIONS);
  visit(document, {
    Scalar(_key, node) {
      // In this style, the text needs no escapes.
      if (typeof node.value === "string" && node.value.match(LIST) !== null) node.type = "BLOCK_LITERAL";
    },
  });
  return `---\n${document.toString(YAML_OPTIONS).replaceAll(LIST, "{{ $lists.$1 }}")}`;
}
