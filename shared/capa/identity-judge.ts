import { bindChecks, type BoundChecks } from "../core/bind.ts";
import { ofChange, within } from "../core/binding.ts";
import { ROLE_IDENTITY } from "../core/capa-kinds.ts";
import type { Check, CheckInput } from "../core/check.ts";
import type { Inventory } from "../core/inventory.ts";
import { type Judge, type ReviewedID, typeOf } from "../core/judge.ts";
import { limitCheck } from "../core/size-limits.ts";
import type { JsonObject } from "../formats/json.ts";
import { IDENTITIES } from "./identities.ts";
import { CI_02, CI_03, CI_04, CI_05, CI_06, CI_08, CI_36 } from "./identity-allowed.ts";
import { CI_01, CI_10, CI_11, identityChange, type IdentityChange } from "./identity-change.ts";
import { CI_20, CI_21, CI_22, CI_23, CI_24, CI_29, CI_35, CI_37 } from "./identity-role.ts";
import { CI_00, CI_09, CI_33 } from "./identity-shape.ts";
import { CI_25, CI_26, CI_27, CI_28 } from "./identity-source.ts";
import { CI_07, CI_07_OF_NEW, CI_30, CI_31 } from "./identity-use.ts";
import { readIdentity } from "./identity.ts";
import { IDENTITY, IDENTITY_LIKE } from "./kinds.ts";
import { pendingIdentities } from "./pending-identities.ts";
import { IDENTITY_PROBLEMS } from "./problems.ts";
import { identityTarget } from "./role-targets.ts";

/** The checks that run when a CAPA identity changes. */
const IDENTITY_CHECKS: readonly Check<IdentityChange>[] = [
  CI_00, CI_01, CI_02, CI_03, CI_04, CI_05, CI_06, CI_07, CI_08, CI_09, CI_10, CI_11,
  CI_20, CI_21, CI_22, CI_23, CI_24, CI_25, CI_26, CI_27, CI_28, CI_29, CI_30, CI_31, CI_35, CI_36, CI_37,
];
const LIMIT = limitCheck(IDENTITY.limit);
const SPELLING = [CI_33];
const bindIdentity = within(LIMIT, ofChange([...IDENTITY_CHECKS, CI_07_OF_NEW], identityChange));

export const IDENTITY_JUDGE: Judge = {
  kind: IDENTITY, checks: [...IDENTITY_CHECKS, CI_33, LIMIT],
  bind: (input, settings) => [...spelling(input), ...bindIdentity(input, settings)],
  namesRoles({ object }, { runtime }, inventory) {
    const identity = readIdentity(object, runtime);
    // Other checks report an identity whose source does not exist.
    const target = identity?.kind === ROLE_IDENTITY ? identityTarget(identity, inventory) : "";
    if (typeof target === "string") return [];
    return [{ path: ["spec", "roleARN"], durationPath: ["spec", "durationSeconds"], target }];
  },
  review: { pending: pendingIdentities },
  storeProblems: IDENTITY_PROBLEMS,
  stored: storedIdentity,
};

export const IDENTITY_LIKE_JUDGE: Judge = { kind: IDENTITY_LIKE, checks: SPELLING, bind: spelling };

/** Returns the check of the spelling of the kind. */
export function spelling({ object, inventory = null }: CheckInput): BoundChecks[] {
  return [bindChecks(SPELLING, { object, inventory }, null)];
}

function storedIdentity(id: ReviewedID, inventory: Inventory): JsonObject | null {
  const { kind: { kind }, namespace, name } = id;
  const identity = inventory.of(IDENTITIES).get({ kind, name }, namespace);
  return identity === null ? null : { ...typeOf(id), metadata: { name, namespace: identity.namespace }, spec: {} };
}
