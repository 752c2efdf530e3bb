import { RESOLUTION_KEYS, RESOLVER_PREFIX } from "../../shared/contract/annotation-keys.ts";
import type { CheckEntry } from "../../shared/checks/check.ts";
import { IDENTITY_KINDS } from "../../shared/contract/capa-kinds.ts";
import { DNS_SUBDOMAIN } from "../../shared/formats/names.ts";
import {
  MAX_CHAIN_LENGTH, MAX_CHAIN_LINKS, MAX_REASON_LENGTH,
} from "../../shared/resolution/resolution-annotations.ts";
import { type Outcome, OUTCOMES } from "../../shared/resolution/selection.ts";
import { body, not, read, text, texts } from "./cel.ts";
import type { PolicyCheck } from "./policy.ts";

// The annotations of a resolution, after the webhook wrote them. A policy cannot tell other annotations of a user from
// those of the webhook, so it denies only annotations that the webhook never writes together.

const ANNOTATIONS = read("annotations");
const OLD = read("annotations", "old");

/** Returns an expression: the value of an annotation. */
function valueOf(name: string): string {
  return `${ANNOTATIONS}[${text(RESOLVER_PREFIX + name)}]`;
}

function has(name: string): string {
  return `${text(RESOLVER_PREFIX + name)} in ${ANNOTATIONS}`;
}

/** Returns an expression: the annotations do not contain the name, or the condition is true. */
function ifPresent(name: string, condition: string): string {
  return `(!(${has(name)}) || ${condition})`;
}

function outcomes(...names: readonly Outcome[]): string {
  return `${valueOf("outcome")} in ${texts(names)}`;
}

const HAS_REASON = `${has("reason")} && size(${valueOf("reason")}) <= ${MAX_REASON_LENGTH}`;

/** The conditions that the annotations of an ACK resource meet. */
export const OF_RESOURCES: readonly string[] = [
  `${has("outcome")} && ${outcomes(...OUTCOMES)}`,
  HAS_REASON,
  ifPresent("role-arn", `${outcomes("selected", "default")} && ${valueOf("role-arn")}.startsWith("arn:")`),
  ifPresent("selector", outcomes("selected")),
  ifPresent("selector-resource-version", has("selector")),
  `(${has("conflicting-selectors")}) == (${outcomes("conflict")})`,
  not(has("identity-chain")),
];

const LINK = `^(${IDENTITY_KINDS.join("|")})/(${body(DNS_SUBDOMAIN)})$`;
const LINKS = `${valueOf("identity-chain")}.split(",")`;

/** The conditions that the annotations of an object that refers to a CAPA identity meet. */
export const OF_CLUSTERS: readonly string[] = [
  `${has("outcome")} && ${outcomes("selected", "default", "refused")}`,
  `${has("via")} && ${valueOf("via")} == "identity"`,
  HAS_REASON,
  ifPresent("role-arn", outcomes("selected")),
  ...["selector", "selector-resource-version", "conflicting-selectors"].map((name) => not(has(name))),
  `(${has("identity-chain")} || ${outcomes("default", "refused")})`,
  ifPresent("identity-chain", `size(${valueOf("identity-chain")}) <= ${MAX_CHAIN_LENGTH} && `
    + `size(${LINKS}) <= ${MAX_CHAIN_LINKS} && ${LINKS}.all(link, link.matches(${text(LINK)}))`),
];

/** Returns the check that denies annotations of a resolution that do not meet the conditions. */
export function resolutionCheck(check: CheckEntry, conditions: readonly string[]): PolicyCheck {
  const isUnchanged = `${texts(RESOLUTION_KEYS)}.all(key, (key in ${ANNOTATIONS}) == (key in ${OLD}) && `
    + `(!(key in ${ANNOTATIONS}) || ${ANNOTATIONS}[key] == ${OLD}[key]))`;
  return {
    // The webhook only warns, because it replaces the annotations. The policy denies what nothing would replace.
    check: { ...check, severity: "deny" },
    admits: `${isUnchanged} || ${not(`${texts(RESOLUTION_KEYS)}.exists(key, key in ${ANNOTATIONS})`)} || `
      + conditions.join(" && "),
    path: "metadata.annotations",
    message: `the annotations ${RESOLVER_PREFIX}* contradict each other; only the webhook writes these annotations`,
    fix: "remove these annotations; the webhook sets the resolved values",
  };
}
