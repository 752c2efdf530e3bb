import { ACK_02 } from "../../shared/ack/resource-annotations.ts";
import { CLUSTER } from "../../shared/capa/kinds.ts";
import {
  CONTROLLER_IDENTITY, CONTROLLER_IDENTITY_NAME, IDENTITY_KINDS, identityPlural, INFRASTRUCTURE_GROUP,
} from "../../shared/core/capa-kinds.ts";
import { CHANGES_MORE_THAN_BOOKKEEPING } from "../../shared/core/conditions.ts";
import { MAX_CHAIN_LENGTH, MAX_CHAIN_LINKS } from "../../shared/core/resolution-annotations.ts";
import { body, not, text, texts } from "../../shared/formats/cel.ts";
import { DNS_SUBDOMAIN } from "../../shared/formats/names.ts";
import {
  exemption, isCAPA, METADATA, type Policy, type PolicyLists, WAIVERS, waiverVariables,
} from "../policies/policy.ts";
import type { FeaturePolicies, ReadOnlyKind } from "../policies/requesters.ts";
import {
  has, HAS_REASON, ifPresent, metadataLimitCheck, outcomes, resolutionCheck, valueOf,
} from "../policies/resources.ts";
import { CREATE_AND_UPDATE, rulesOf } from "../webhooks.ts";

const LINK = `^(${IDENTITY_KINDS.join("|")})/(${body(DNS_SUBDOMAIN)})$`;
const LINKS = `${valueOf("identity-chain")}.split(",")`;

/** The conditions that the annotations of an object that refers to a CAPA identity meet. */
const OF_CLUSTERS: readonly string[] = [
  `${has("outcome")} && ${outcomes("selected", "default", "refused")}`,
  `${has("via")} && ${valueOf("via")} == "identity"`,
  HAS_REASON,
  ifPresent("role-arn", outcomes("selected")),
  ...["selector", "selector-resource-version", "conflicting-selectors"].map((name) => not(has(name))),
  `(${has("identity-chain")} || ${outcomes("default", "refused")})`,
  ifPresent("identity-chain", `size(${valueOf("identity-chain")}) <= ${MAX_CHAIN_LENGTH} && `
    + `size(${LINKS}) <= ${MAX_CHAIN_LINKS} && ${LINKS}.all(link, link.matches(${text(LINK)}))`),
];

/**
 * Returns the policy for the annotations of objects that refer to CAPA identities. Exempts CAPA itself from
 * all checks except WAIVER-01.
 */
function clusterPolicy(lists: PolicyLists): Policy {
  const { variable, unlessExempt } = exemption(isCAPA(lists));
  return {
    name: "clusters",
    rules: rulesOf(CLUSTER, CREATE_AND_UPDATE),
    conditions: [CHANGES_MORE_THAN_BOOKKEEPING],
    variables: [
      variable,
      ...METADATA,
      ...waiverVariables(lists),
    ],
    checks: [...[resolutionCheck(ACK_02, OF_CLUSTERS), metadataLimitCheck(CLUSTER)].map(unlessExempt), WAIVERS],
  };
}

const IS_IDENTITY = `request.resource.group == ${text(INFRASTRUCTURE_GROUP)} && `
  + `request.resource.resource in ${texts(IDENTITY_KINDS.map(identityPlural))}`;

/**
 * The identities, of which the webhook creates that of `--auto-controller-identity`. CAPA's webhook adds an empty
 * selector to it. With a list that is not null, an empty selector allows no namespace.
 */
const IDENTITIES: ReadOnlyKind = {
  isOfKind: IS_IDENTITY,
  creates: {
    name: "isNewControllerIdentity",
    expression: [
      'request.operation == "CREATE"', 'request.?subResource.orValue("") == ""', IS_IDENTITY,
      `request.resource.resource == ${text(identityPlural(CONTROLLER_IDENTITY))}`,
      `object.metadata.name == ${text(CONTROLLER_IDENTITY_NAME)}`,
      "object.?spec.?allowedNamespaces.?list.orValue(null) != null",
      "object.spec.allowedNamespaces.?selector.orValue({}) == {}",
    ].join(" && "),
  },
  created: `${CONTROLLER_IDENTITY} ${CONTROLLER_IDENTITY_NAME} with a list of namespaces`,
  others: "other identities",
};

export const CAPA: FeaturePolicies = {
  feature: "capa", policies: [clusterPolicy], updated: "clusters", readOnly: [IDENTITIES],
};
