import { formatFieldPath } from "../kubernetes/field-path.ts";
import { countOf, sortedListOf } from "../kubernetes/text.ts";
import { LIMITS } from "../limits.ts";
import { conflictSentence } from "../resolution/conflict.ts";
import { type DecodedSelector, withholdsGrant } from "../selectors/decode.ts";
import type { EffectiveSelector } from "../selectors/effective.ts";
import { shortName } from "../selectors/session-annotations.ts";
import { deny, type Grant, listed } from "./grant.ts";

/** Returns the names of the selectors. */
export function namesOf(selectors: Iterable<EffectiveSelector>): string[] {
  return Array.from(selectors, ({ name }) => name);
}

/** Denies a role whose selectors have different session settings. */
export function sessionsDiffer(
  roleARN: string, withRole: ReadonlySet<EffectiveSelector>, differing: ReadonlySet<string>,
): Grant {
  const names = namesOf(withRole);
  const settings = [...differing].map(shortName).join(", ");
  return deny(
    "ERR_SELECTOR_EXTRAS",
    `IAMRoleSelectors ${sortedListOf(names)} set different session settings for ${roleARN} (${settings}). `
      + "Set the same annotation values on these selectors.",
    listed(names).first,
  );
}

/** Denies a request for resources that several selectors select. */
export function conflict(selecting: readonly EffectiveSelector[]): Grant {
  const names = namesOf(selecting);
  return deny("ERR_SELECTOR_CONFLICT", conflictSentence(names), listed(names).first);
}

/** Denies the role of a faulty selector. */
export function malformed({ name, faults }: DecodedSelector): Grant {
  const found = faults
    .filter((one) => withholdsGrant(one) || one.fault.dropsSelector === true)
    .map(({ check, fault }) => `${check.id} ${formatFieldPath(fault.path)}: ${fault.message}`);
  const more = found.splice(LIMITS.faultsPerCheck.value).length;
  if (more > 0) found.push(`and ${countOf(more, "more fault")}`);
  const message = `IAMRoleSelector ${name} grants no role until its faults are corrected: ${found.join("; ")}.`;
  return deny("ERR_SELECTOR_MALFORMED", message, [name]);
}

/** Denies a request without labels, because the selectors in `undecided` depend on labels. */
export function labelsRequired(namespace: string, undecided: Iterable<EffectiveSelector>): Grant {
  const { first, text } = listed(namesOf(undecided));
  return deny(
    "ERR_SELECTOR_AMBIGUOUS",
    `In namespace ${namespace} the role depends on the labels of the resource, but the request has no labels. `
      + `IAMRoleSelectors that read labels: [${text}]. `
      + `Request /v1/credentials/namespaces/${namespace} with label=KEY=VALUE for each label of the resource.`,
    first,
  );
}
