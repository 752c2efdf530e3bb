// Renders the policies as a template of the Helm chart. The settings change only lists in the CEL expressions.
// templates/_policies.tpl computes these lists from the values.
import { Document, visit } from "yaml";
import { admissionPolicies, type PolicyOptions } from "./policies.ts";
import type { PolicySettings } from "./policies/policy.ts";
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

/** Returns the template of the policies. Only the policy of selectors depends on the runtime. */
export function policiesTemplate(options: Omit<PolicyOptions, "runtime">): string {
  const [forExtended, forACK] = (["extended", "ack"] as const).map((runtime) => (
    admissionPolicies({ ...options, runtime }, PLACEHOLDERS).map(withLists)
  ));
  const documents = (forACK ?? []).map((document, index) => {
    const extended = forExtended?.[index] ?? "";
    return extended === document
      ? document
      : `{{- if eq .Values.runtime "extended" }}\n${extended}{{- else }}\n${document}{{- end }}\n`;
  });
  return `{{- if .Values.policies.enabled }}\n${LISTS}${documents.join("")}{{- end }}\n`;
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
