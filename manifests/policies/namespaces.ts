import {
  DEFAULT_REGION_ANNOTATION, DELETION_POLICY_ANNOTATION, ENDPOINT_URL_ANNOTATION, IGNORED_NAMESPACES,
  SELECTOR_REQUIRED_ANNOTATION,
} from "../../shared/contract/annotation-keys.ts";
import { NS_14 } from "../../shared/checks/size-limits.ts";
import { NS_09 } from "../../shared/checks/namespace-deletion.ts";
import { HOST_AND_PORT, NS_08, NS_08B, PATH_CHARACTERS } from "../../shared/checks/namespace-endpoint.ts";
import { NS_07 } from "../../shared/checks/namespace-region.ts";
import { NS_17, REQUIRED } from "../../shared/checks/namespace-owner.ts";
import { DELETION_POLICY_DELETE, DELETION_POLICY_RETAIN } from "../../shared/checks/resource-deletion.ts";
import { REGION } from "../../shared/formats/arn.ts";
import { annotationPath, formatFieldPath } from "../../shared/formats/json.ts";
import { CHANGES_NAMESPACE } from "../conditions.ts";
import { CREATE_AND_UPDATE, exceptNamespaces, namespaces } from "../webhook-rules.ts";
import {
  anyCase, body, derivedVariables, fieldVariables, quoted, read, regexp, text, texts, unlessStored,
} from "./cel.ts";
import type { Policy, PolicyCheck, PolicySettings } from "./policy.ts";
import { waiverVariables, WAIVERS } from "./requester.ts";
import { metadataLimitCheck, valueCheck } from "./resources.ts";

const ENDPOINT_PATH = formatFieldPath(annotationPath(ENDPOINT_URL_ANNOTATION));
const ENDPOINT = text(`^${anyCase("https")}://${body(HOST_AND_PORT)}(/${body(PATH_CHARACTERS)})?$`);

/**
 * The number of characters of an endpoint URL that the policy reads. If a URL is valid, its first characters are a
 * valid URL too. The limit bounds the cost of the patterns.
 */
const ENDPOINT_CHARACTERS = 4_096;

/** The variables `endpoint` and `oldEndpoint`: the start of the endpoint URL, or "". */
function endpointVariables(): ReturnType<typeof derivedVariables> {
  return derivedVariables("endpoint", (state) => {
    const url = `${read("annotations", state)}[?${text(ENDPOINT_URL_ANNOTATION)}].orValue("")`;
    return `size(${url}) > ${ENDPOINT_CHARACTERS} ? ${url}.substring(0, ${ENDPOINT_CHARACTERS}) : ${url}`;
  });
}

/** The start of a URL with one of the allowed hosts. */
const ALLOWED = '"(?i)^[a-z][a-z0-9+.-]*://([^/?#]*@)?(" + variables.allowedHosts.join("|") + ")(:[0-9]*)?([/?#]|$)"';

const ENDPOINT_CHECKS: readonly PolicyCheck[] = [
  {
    check: NS_08,
    admits: unlessStored((state) => {
      const endpoint = read("endpoint", state);
      return `${endpoint} == "" || ${endpoint}.matches(${ENDPOINT})`;
    }),
    path: ENDPOINT_PATH,
    message: "the endpoint is not an https URL without credentials, query and fragment",
  },
  {
    check: NS_08B,
    admits: `size(variables.allowedHosts) == 0 || ${unlessStored((state) => {
      const endpoint = read("endpoint", state);
      return `!${endpoint}.matches("^[A-Za-z][A-Za-z0-9+.-]*://") || ${endpoint}.matches(${ALLOWED})`;
    })}`,
    path: ENDPOINT_PATH,
    message: "the endpoint host is not one of the allowed hosts",
  },
];

/** Runs a check only if the namespace is within its limits, which bounds the cost. NS-14 denies other namespaces. */
function bounded(check: PolicyCheck): PolicyCheck {
  return { ...check, admits: `!variables.isWithinLimits || (${check.admits})` };
}

function deletionPolicyCheck(): PolicyCheck {
  const [annotations, old] = [read("annotations"), read("annotations", "old")];
  const policies = texts(["", DELETION_POLICY_DELETE, DELETION_POLICY_RETAIN]);
  return {
    check: NS_09,
    admits: `${annotations}.all(key, !key.endsWith(${text(`.${DELETION_POLICY_ANNOTATION}`)}) || `
      + `${annotations}[key] in ${policies} || key in ${old} && ${old}[key] == ${annotations}[key])`,
    path: `metadata.annotations[SERVICE.${DELETION_POLICY_ANNOTATION}]`,
    message: "the value is not a deletion policy, so controllers treat it as retain",
  };
}

/** Denies the removal of `selector-required: "true"`, and another value, by a user who is not a waiver user. */
function selectorRequiredCheck(): PolicyCheck {
  const [after, before] = [read("annotations"), read("annotations", "old")].map((annotations) => (
    `${annotations}[?${text(SELECTOR_REQUIRED_ANNOTATION)}]`
  ));
  return {
    check: NS_17,
    admits: `${after} == ${before} || ${after} == optional.of(${text(REQUIRED)}) || `
      + `!${after}.hasValue() && ${before} != optional.of(${text(REQUIRED)}) || ${read("isWaiverUser")}`,
    path: formatFieldPath(annotationPath(SELECTOR_REQUIRED_ANNOTATION)),
    message: "the requester is not a waiver user and may not remove the annotation or set it to another value",
  };
}

/** Returns the policy for Namespaces, and for the subresources through which a client can change annotations. */
export function namespacePolicy(settings: PolicySettings, namespace: string): Policy {
  const limit = metadataLimitCheck(NS_14);
  const region = valueCheck(NS_07, DEFAULT_REGION_ANNOTATION, "the value is not a region", (value) => (
    `${value} == "" || ${value}.matches(${regexp(REGION)})`
  ));
  return {
    name: "namespaces",
    match: {
      matchPolicy: "Equivalent",
      namespaceSelector: exceptNamespaces([...new Set([...IGNORED_NAMESPACES, namespace])]),
      resourceRules: [namespaces(CREATE_AND_UPDATE)],
    },
    conditions: [CHANGES_NAMESPACE],
    variables: [
      ...fieldVariables("annotations", "metadata.annotations", "{}"),
      ...fieldVariables("labels", "metadata.labels", "{}"),
      { name: "allowedHosts", expression: texts(settings.allowedEndpointHosts.map(quoted)) },
      { name: "isWithinLimits", expression: limit.admits },
      ...endpointVariables(),
      ...waiverVariables(settings),
    ],
    checks: [
      ...[region, ...ENDPOINT_CHECKS, deletionPolicyCheck(), selectorRequiredCheck(), WAIVERS].map(bounded), limit,
    ],
  };
}
