import type { RoleTarget } from "../core/role-target.ts";
import { parseRoleARN } from "../formats/arn.ts";
import { compareText, listOf } from "../formats/text.ts";
import type { EffectiveSelector } from "../core/effective-selector.ts";
import { differingExtras, shortName } from "../core/session-annotations.ts";
import { identityCall, mapCall, type NeededCall, neededCall, type NeededCallers } from "./needed-call.ts";
import type { Program } from "./role-caller.ts";
import { assumes, TARGET_KINDS } from "./trust-target.ts";

/** What names roles: selectors, and CARM maps and identities. */
export interface RoleNamers {
  readonly selectors: readonly EffectiveSelector[];
  readonly others: readonly RoleTarget[];
}

/** What names one role. Its selectors have the same session settings. */
export interface RoleNeeds extends RoleNamers {
  readonly role: string;
}

interface Grouped {
  readonly needs: readonly RoleNeeds[];
  /** Why a role has no policy. */
  readonly faults: readonly string[];
}

/** Groups by role what a program assumes roles of. The sidecar denies a role whose selectors have other settings. */
export function needsByRole({ selectors, others }: RoleNamers, via: Program): Grouped {
  const targets = others.filter((target) => assumes(via, target));
  const faults = targets.filter((target) => !isValid(target)).map(({ kind, name }) => (
    `${TARGET_KINDS[kind]} ${name}: the role, or that of its source, is not the ARN of an IAM role`
  ));
  const grantable = assumes(via, { kind: "selector" }) ? selectors.filter((one) => one.grantable) : [];
  const ofSelectors = Map.groupBy(grantable, ({ roleARN }) => roleARN);
  const ofOthers = Map.groupBy(targets.filter(isValid), ({ roleARN }) => roleARN);
  const needs: RoleNeeds[] = [];
  for (const role of [...new Set([...ofSelectors.keys(), ...ofOthers.keys()])].toSorted(compareText)) {
    const own = ofSelectors.get(role) ?? [];
    const differing = differingSettings(own);
    if (differing.length === 0) needs.push({ role, selectors: own, others: ofOthers.get(role) ?? [] });
    else {
      const settings = listOf(differing);
      faults.push(`${role}: its selectors set different session settings (${settings}); set the same values on them`);
    }
  }
  return { needs, faults };
}

function isValid(target: RoleTarget): boolean {
  const source = target.kind === "identity" ? target.source?.roleARN ?? target.roleARN : target.roleARN;
  return [target.roleARN, source].every((arn) => parseRoleARN(arn) !== null);
}

function differingSettings([first, ...others]: readonly EffectiveSelector[]): string[] {
  if (first === undefined) return [];
  return [...new Set(others.flatMap(({ extras }) => differingExtras(first.extras, extras)))].map(shortName);
}

/** Returns the calls for a role, each once. */
export function callsFor({ selectors, others }: RoleNeeds, callers: NeededCallers): readonly NeededCall[] {
  const [first, ...more] = selectors;
  const calls = [
    ...(first === undefined ? [] : [neededCall([first, ...more], callers)]),
    ...others.map((target) => (target.kind === "identity" ? identityCall(target, callers) : mapCall(target, callers))),
  ];
  return [...new Map(calls.map((call) => [JSON.stringify(call), call])).values()];
}
