import type { RoleTarget } from "../core/role-target.ts";
import { SELECTOR_KIND } from "../core/ack-groups.ts";
import { ROLE_IDENTITY } from "../core/capa-kinds.ts";
import { PROGRAMS } from "../core/trust-settings.ts";
import { accountOfARN, parseRoleARN } from "../formats/arn.ts";
import { fillInGrant } from "../core/session-annotations.ts";
import { withDefaults } from "../core/session-defaults.ts";
import { isUnrestricted, MAX_CHAINED_SECONDS, type SessionTag } from "../core/session.ts";
import { type AssumeRoleCall, NOTHING_SENT, type Tags } from "./assume-role-call.ts";
import { CAPABILITY_KEYS } from "./added-tags.ts";
import type { Program, RoleCaller } from "./role-caller.ts";

/** Returns a note for each kind of objects whose roles none of the programs assumes. */
export function unassumedNotes(targets: readonly RoleTarget[], vias: readonly Program[]): string[] {
  const kinds = [...new Set(targets.map(({ kind }) => kind))];
  return kinds.filter((kind) => !vias.some((via) => assumes(via, { kind }))).map((kind) => {
    const programs = PROGRAMS.filter((via) => assumes(via, { kind }));
    return `the roles of each ${TARGET_KINDS[kind]} are not examined: no known caller assumes them; pass --caller with `
      + `--via ${programs.join(" or ")}`;
  });
}

/** The kinds of the objects that name roles. A role that only an export contains is named by none. */
export const TARGET_KINDS: Readonly<Record<RoleTarget["kind"], string>> = {
  selector: SELECTOR_KIND, identity: ROLE_IDENTITY, map: "ConfigMap", role: "", controller: "Deployment",
};

const TARGETS: Readonly<Record<Program, ReadonlySet<RoleTarget["kind"]>>> = {
  ack: new Set(["selector", "map", "role"]), sidecar: new Set(["selector", "map", "identity", "role"]),
  "eks-capability": new Set(["selector", "role"]), capa: new Set(["identity", "role"]),
};

/** Whether a program assumes the roles of this kind. */
export function assumes(via: Program, { kind }: Pick<RoleTarget, "kind">): boolean {
  return TARGETS[via].has(kind);
}

/** Whether a controller manages kinds that the selector selects. */
export function manages({ groups = null }: RoleCaller, target: RoleTarget): boolean {
  const types = target.kind === "selector" ? target.types ?? null : null;
  return groups === null || types === null || groups.some((group) => types.coversGroup(group));
}

/** Whether a controller of the caller manages resources of an API group. */
export function managesGroup({ groups = null }: RoleCaller, group: string): boolean {
  return groups === null || groups.includes(group);
}

type Parameters = Omit<AssumeRoleCall, "role">;

/** What the shipped controllers send: aws-sdk-go-v2 credentials/stscreds/assume_role_provider.go. */
const OF_SDK = { sessionName: null, sessionNameStart: "aws-go-sdk-", durationSeconds: 900 } as const;

/** Returns the role that assumes the role of an identity; null for the caller's own, or if it is not an ARN. */
export function sourceRole(target: RoleTarget): string | null {
  const roleARN = target.kind === "identity" ? target.source?.roleARN ?? "" : "";
  return parseRoleARN(roleARN) === null ? null : roleARN;
}

/** Whether a program sends session policies when it assumes the role. */
export function sendsPolicies(target: RoleTarget, { via }: Pick<RoleCaller, "via">): boolean {
  if (target.kind === "identity") {
    const { hasInlinePolicy = false, hasManagedPolicies = false } = target.session;
    return hasInlinePolicy || (hasManagedPolicies && via === "sidecar");
  }
  if (target.kind !== "selector" || via !== "sidecar") return false;
  return !isUnrestricted(target.extras) || target.extras.scope === "service";
}

/** Returns what a program sends to STS when it assumes the role. */
export function parametersOf(target: RoleTarget, caller: Omit<RoleCaller, "credentials">): Parameters {
  if (caller.via === "sidecar") return sidecarParameters(target, caller);
  if (caller.via === "eks-capability") {
    const namespace = target.kind === "selector" ? target.namespace : null;
    const tags = new Map(CAPABILITY_KEYS.map((key) => [key, key.endsWith("namespace") ? namespace : null]));
    return { ...NOTHING_SENT, tags };
  }
  if (target.kind !== "identity") return { ...NOTHING_SENT, ...OF_SDK };
  // CAPA sends no tags, and treats "" and 0 as missing.
  const { externalID, sessionName, durationSeconds } = target.session;
  return {
    ...NOTHING_SENT, ...OF_SDK, externalID: externalID === "" ? null : externalID,
    ...((sessionName ?? "") !== "" && { sessionName }), ...((durationSeconds ?? 0) !== 0 && { durationSeconds }),
  };
}

function sidecarParameters(target: RoleTarget, { sidecar }: Pick<RoleCaller, "sidecar">): Parameters {
  const base = { ...NOTHING_SENT, sessionName: sidecar.sessionName, durationSeconds: MAX_CHAINED_SECONDS };
  if (target.kind === "identity") {
    const { externalID, sessionName, durationSeconds, tags, transitiveTags } = target.session;
    return {
      ...base, externalID, sessionName: sessionName ?? sidecar.sessionName, tags: tagsOf(tags),
      durationSeconds: durationSeconds ?? MAX_CHAINED_SECONDS, transitiveTagKeys: transitiveTags,
    };
  }
  if (target.kind !== "selector") return base;
  const { name, roleARN, namespace } = target;
  const extras = fillInGrant(withDefaults(target.extras, sidecar.defaults), {
    selector: name, account: accountOfARN(roleARN), group: null, namespace,
  });
  return {
    ...base, externalID: extras.externalID, sourceIdentity: extras.sourceIdentity, tags: tagsOf(extras.tags),
    sessionName: extras.sessionName ?? sidecar.sessionName,
    // The sidecar shortens a chained session.
    durationSeconds: Math.min(extras.durationSeconds ?? MAX_CHAINED_SECONDS, MAX_CHAINED_SECONDS),
  };
}

/** Returns tags by key. A value with a template depends on what the controller requests. */
export function tagsOf(tags: readonly SessionTag[]): Tags {
  return new Map(tags.map(({ key, value }) => [key, /\{[^{}]*\}/.test(value) ? null : value]));
}

