import type { FieldPath } from "../formats/json.ts";
import type { TypeSet } from "./resource-types.ts";
import type { SessionExtras, SessionTag } from "./session.ts";

/** A role to be assumed, and what names it. */
export type RoleTarget = { readonly name: string; readonly roleARN: string } & (
  | {
    readonly kind: "selector"; readonly extras: SessionExtras;
    /** The only namespace that the selector selects, or null. */
    readonly namespace: string | null;
    /** The types that it selects; null for every type. */
    readonly types?: Pick<TypeSet, "coversGroup"> | null;
  }
  | {
    readonly kind: "identity"; readonly session: IdentitySession;
    /** Null if the caller assumes the role. */
    readonly source: IdentitySource | null;
  }
  /** A role of a CARM map, a controller's own, or one that only an export contains. */
  | { readonly kind: "map" | "role" | "controller" }
);

/** The role that assumes the role of an identity. */
export interface IdentitySource {
  readonly roleARN: string;
  /** The transitive tags of its session, which only the sidecar sets. */
  readonly tags: readonly SessionTag[];
  /** Whether a user whose keys a Secret contains assumes the first role, in place of the caller. */
  readonly hasOtherBase: boolean;
}

/** What an AWSClusterRoleIdentity states of a session. */
export interface IdentitySession {
  readonly externalID: string | null;
  readonly sessionName: string | null;
  readonly durationSeconds: number | null;
  readonly tags: readonly SessionTag[];
  readonly transitiveTags: readonly string[];
  /** Whether the session is limited by policies. Shipped CAPA sends only the inline policy. */
  readonly hasInlinePolicy?: boolean;
  readonly hasManagedPolicies?: boolean;
}

/** How texts name what contains a role, such as an IAMRoleSelector. */
export interface RoleOwner {
  /** Such as `selector`. */
  readonly noun: string;
  /** Where another role is named. */
  readonly roleField: string;
  /** What sets the duration of the session. */
  readonly durationField: string;
  /** Who assumes the role, if the ARN of the caller is not known. */
  readonly caller: string;
}

/** A role that an object names. */
export interface NamedRole {
  /** The field that names it. */
  readonly path: FieldPath;
  /** The field that states the duration of its session. */
  readonly durationPath?: FieldPath;
  readonly target: RoleTarget;
}

/** The roles that objects name. */
export interface RoleTargets {
  readonly targets: readonly RoleTarget[];
  /** Why there is no target for an object, as sentences without a full stop. */
  readonly omitted: readonly string[];
}
