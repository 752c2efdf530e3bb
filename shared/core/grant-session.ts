import { policyLengthFault, policyTemplates } from "./session-policy.ts";
import { accountOfARN } from "../formats/arn.ts";
import { compareText, quote } from "../formats/text.ts";
import type { EffectiveSelector } from "./effective-selector.ts";
import { fillInGrant, TEMPLATE, usesTemplate } from "./session-annotations.ts";
import { withDefaults } from "./session-defaults.ts";
import type { RoleOwner } from "./role-target.ts";
import { MAX_TAGS, type SessionExtras, TAG_VALUE_LIMITS } from "./session.ts";
import { type Denial, deny, type GrantScope, type RoleGrant } from "./grant.ts";

/**
 * Returns the only namespace whose resources the selector can select, or null. Two selectors of one role may select
 * different namespaces, so a request for a role must not use this value if several selectors have the role.
 */
export function onlyNamespace({ namespaces }: EffectiveSelector): string | null {
  const [only = null, ...others] = namespaces ?? [];
  return others.length === 0 ? only : null;
}

/** Whether the tags of the role contain the name of the selector because of the default tags. */
export function isNamedByDefault(selector: EffectiveSelector, { sessionDefaults }: GrantScope): boolean {
  return usesTemplate(withDefaults(selector.extras, sessionDefaults), "selector");
}

/** How texts name a selector. */
export const SELECTOR_OWNER: RoleOwner = {
  noun: "selector", roleField: "a new selector", durationField: "the annotation duration-seconds",
  caller: "the sidecar",
};

/**
 * Returns the grant of a role with its session settings: those of the selector, then the defaults. Denies the role if a
 * tag contains a namespace that the request does not determine, because IAM policies can grant access by this tag.
 */
export function grantWithSession(
  selector: EffectiveSelector, { groups, sessionDefaults }: GrantScope, namespace: string | null,
): RoleGrant | Denial {
  const { name, roleARN, types } = selector;
  const own = withDefaults(selector.extras, sessionDefaults);
  const covered = groups.filter((group) => types === null || types.coversGroup(group));
  const extras = fillInGrant(own, {
    selector: name, account: accountOfARN(roleARN), group: covered.toSorted(compareText).join(" "), namespace,
  });
  const fault = sessionFault(extras);
  if (fault !== null) return deny("ERR_SELECTOR_EXTRAS", `IAMRoleSelector ${name} ${fault}`, [name]);
  const ofNamespace = namespace !== null && usesTemplate(own, "namespace") ? { namespace } : {};
  return {
    verdict: "role", roleARN, selectors: [name], extras, owner: SELECTOR_OWNER, grantedBy: selector, ...ofNamespace,
  };
}

/** Returns why STS would reject the tags or they would be wrong, or null. The checks do not know these facts. */
function sessionFault({ tags, policy, policyARNs }: SessionExtras): string | null {
  if (tags.length > MAX_TAGS) {
    return `has ${tags.length} session tags with those of --default-session-tags, but STS allows ${MAX_TAGS}. `
      + "Remove tags.";
  }
  for (const { key, value } of tags) {
    if (value.length > TAG_VALUE_LIMITS.max) {
      return `sets the session tag ${quote(key)}, which is too long for STS after its templates are filled in. `
        + "Shorten the tag, for example by removing {group}.";
    }
    const [template] = value.match(TEMPLATE) ?? [];
    if (template !== undefined) return openTemplate(key, template);
  }
  return policyFault(policy, policyARNs);
}

/** Returns why STS would reject the session policies after their templates are filled in, or null. */
function policyFault(policy: string | null, policyARNs: readonly string[]): string | null {
  const tooLong = policyLengthFault(policy, policyARNs);
  if (tooLong !== null) return `has session policies that STS rejects: ${tooLong}. Shorten the policy.`;
  const [template] = policyTemplates(policy ?? "");
  if (template === undefined) return null;
  return `has a session policy with {${template}}, but the request does not determine its value. Request `
    + "/v1/credentials/namespaces/NS, set --scope-namespace of the sidecar, or use a selector and a role for each "
    + "namespace.";
}

function openTemplate(key: string, template: string): string {
  return `sets the session tag ${quote(key)} with ${template}, but the request does not determine its value. Request `
    + "/v1/credentials/namespaces/NS, set --scope-namespace of the sidecar, use a selector and a role for each "
    + `namespace, or set the tag without ${template} in the annotation session-tags.`;
}
