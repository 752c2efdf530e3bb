import type { NamedRole } from "../core/role-target.ts";
import type { Extra } from "../core/judge.ts";
import { bindChecks } from "../core/bind.ts";
import { annotationPath, type FieldPath } from "../formats/json.ts";
import { DURATION_SECONDS_ANNOTATION } from "../core/annotation-keys.ts";
import { by, type Repair, repairsOf, set } from "../core/repair.ts";
import { MAX_CHAINED_SECONDS } from "../core/session.ts";
import { TRUST_CODES, type TrustCode } from "./trust-code.ts";
import type { TrustProblem } from "./trust-problem.ts";
import type { TrustReview } from "./trust-review.ts";
import type { CheckEntry, Fault, QuickCheck, Requirement } from "../core/check.ts";

declare module "../core/check.ts" {
  interface CheckInput {
    /** Who can assume the roles of the input. Default: null, without exports of IAM. */
    readonly trust?: TrustReview | null;
  }
}

const IAM: Requirement = { name: "--iam", isMet: ({ trust = null }) => trust !== null };

/** What is wrong with the roles that an object names. All checks of the object share the answers. */
export class RoleTrust {
  readonly #roles: () => readonly NamedRole[];
  readonly #review: TrustReview | null;
  /** Whether controllers do not read the object in this mode. */
  readonly #isUnread: boolean;
  #problems: readonly (readonly [FieldPath, TrustProblem])[] | null = null;

  /** `review` is null without exports of IAM. */
  constructor(roles: () => readonly NamedRole[], review: TrustReview | null, isUnread = false) {
    this.#roles = roles;
    this.#review = review;
    this.#isUnread = isUnread;
  }

  *faults(wanted: TrustCode): Iterable<Fault> {
    for (const [path, { code, message, fix, isHarmless = this.#isUnread }] of this.#all()) {
      if (code !== wanted) continue;
      const repairs = code === TRUST_CODES.duration ? durationRepairs(path) : [];
      const severity = isHarmless && { severity: "warn" as const };
      yield { path, message, ...(fix !== null && { fix }), ...repairsOf(repairs), ...severity };
    }
  }

  #all(): readonly (readonly [FieldPath, TrustProblem])[] {
    const review = this.#review;
    if (review === null) return [];
    return (this.#problems ??= this.#roles().flatMap(({ path, durationPath = path, target }) => (
      review.problemsOf(target).map((problem) => (
        [problem.code === TRUST_CODES.duration ? durationPath : path, problem] as const
      ))
    )));
  }
}

/** The duration of a selector is in an annotation, that of an identity in a field. A CARM map has none. */
function durationRepairs(path: FieldPath): readonly Repair[] {
  if (path.at(-1) === "durationSeconds") return by(set(path, MAX_CHAINED_SECONDS));
  const annotation = annotationPath(DURATION_SECONDS_ANNOTATION);
  return path.at(-1) === "arn" ? by(set(annotation, String(MAX_CHAINED_SECONDS))) : [];
}

type Description = Pick<CheckEntry, "severity" | "reason" | "fix" | "example">;

/** The checks need exports of IAM, which are never of this moment, so the webhook does not run them. */
function trustCheck(id: TrustCode, description: Description): QuickCheck<RoleTrust> {
  return {
    id, ...description, waivable: true, requires: [IAM], on: ["CREATE", "AUDIT"],
    find: (trust) => trust.faults(id),
  };
}

const POLICY = "`ack-role-resolver trust policy --all --cluster --caller ARN_OF_THE_CALLER` prints";
const CALLER = "arn:aws:iam::111122223333:role/ack";

/** Returns the trust policy of an example as a comment. */
function trusting(principal: string, more = ""): string {
  return `# ${CALLER} is the role of the controllers, and the trust policy of the role is\n`
    + `# {"Effect": "Allow", "Principal": ${principal}, "Action": "sts:AssumeRole"${more}}\n`
    + "spec: {arn: 'arn:aws:iam::444455556666:role/team-a'}";
}

const NAMED = `{"AWS": "${CALLER}"}`;

/** The checks of the roles that selectors, CARM maps and identities name. */
export const TRUST_CHECKS: readonly QuickCheck<RoleTrust>[] = [
  trustCheck(TRUST_CODES.notAssumable, {
    severity: "deny",
    reason: "Controllers reconcile no resource whose role they cannot assume. A role is assumed only if its trust "
      + "policy allows the caller; in another account, a policy of the caller must allow the call too.",
    fix: `check the ARN, and give the role the trust policy and its caller the policy that ${POLICY}`,
    example: trusting('{"AWS": "arn:aws:iam::111122223333:role/other"}'),
  }),
  trustCheck(TRUST_CODES.unknown, {
    severity: "warn",
    reason: "An answer that depends on what the input lacks is neither a yes nor a no. The message names what is "
      + "missing: a document of an export, the credentials of the caller, or a key that only AWS knows.",
    fix: "pass the missing export with --iam; what only AWS knows, the sidecar can try with IRS-27=warn",
    example: trusting(NAMED, ', "Condition": {"StringEquals": {"aws:PrincipalOrgID": "o-example"}}'),
  }),
  trustCheck(TRUST_CODES.externalID, {
    severity: "deny",
    reason: "A trust policy that demands an external ID refuses every call without it. Shipped ACK controllers send "
      + "none; the sidecar sends that of the selector's annotation, and CAPA that of the identity.",
    fix: "set the external ID that the role demands in the annotation external-id, with the sidecar, or in externalID "
      + "of the identity; or remove the condition",
    example: trusting(NAMED, ', "Condition": {"StringEquals": {"sts:ExternalId": "team-a"}}'),
  }),
  trustCheck(TRUST_CODES.sessionTags, {
    severity: "deny",
    reason: "A session with tags needs sts:TagSession in each role that it assumes, and across accounts in the policy "
      + "of the caller too. EKS Pod Identity adds tags that are passed on, so its controllers need it even if no "
      + "selector sets tags.",
    fix: "allow the caller sts:TagSession in a statement of its own, without a condition on sts:ExternalId",
    example: `# with --caller-credentials pod-identity\n${trusting(NAMED)}`,
  }),
  trustCheck(TRUST_CODES.deleted, {
    severity: "deny",
    reason: "IAM stores the unique ID of a caller, and an export shows this ID once the caller is deleted. A caller "
      + "that is created again under the same name has another ID, and is not trusted. If the callers can assume the "
      + "role all the same, the check only warns.",
    fix: "write the ARN of the caller into the trust policy again, or remove the unique ID",
    example: trusting('{"AWS": "AROAEXAMPLEEXAMPLEID"}'),
  }),
  trustCheck(TRUST_CODES.duration, {
    severity: "deny",
    reason: "STS rejects more than 1 hour for a session that a session of another role requests, whatever the maximum "
      + "of the role is. Every controller with IRSA or EKS Pod Identity is such a session.",
    fix: "set the duration to at most 3600 seconds",
    example: "kind: AWSClusterRoleIdentity\nspec: {durationSeconds: 7200, "
      + "roleARN: 'arn:aws:iam::444455556666:role/clusters'} # with --via capa --caller-credentials irsa",
  }),
  trustCheck(TRUST_CODES.packedSize, {
    severity: "warn",
    reason: "STS compresses session tags and session policies, and rejects them above a size that it does not "
      + "publish (PackedPolicyTooLarge). The six tags of EKS Pod Identity are inherited and count: users report 74% "
      + "with these alone, and 112% with further tags.",
    fix: "set fewer or shorter tags, or disableSessionTags on the association of EKS Pod Identity",
    example: "# with --via sidecar --caller-credentials pod-identity\n"
      + "metadata: {annotations: {ack-role-resolver.io/session-tags: 'team=a,stage=production'}}",
  }),
  trustCheck(TRUST_CODES.anyone, {
    severity: "deny",
    reason: "A trust policy with Principal `*` lets in every AWS account, unless a condition demands who calls. An "
      + "external ID, a session name or a tag is no such condition, because the caller chooses it.",
    fix: "name the ARN of each caller, or demand aws:PrincipalOrgID or aws:PrincipalArn",
    example: trusting('"*"', ', "Condition": {"StringEquals": {"sts:ExternalId": "team-a"}}'),
  }),
  trustCheck(TRUST_CODES.account, {
    severity: "warn",
    reason: "A trust policy that names an account lets in everyone whom this account allows, now and after each change "
      + "of its policies. The callers need only their own role.",
    fix: "name the role of the caller, or pass the account with --intended",
    example: trusting('{"AWS": "arn:aws:iam::111122223333:root"}'),
  }),
  trustCheck(TRUST_CODES.others, {
    severity: "warn",
    reason: "Whoever can assume the role of a team can do what its controllers can do. Callers of the input and those "
      + "of --intended are meant to assume it.",
    fix: "remove them from the trust policy, or pass them with --intended",
    example: trusting(`{"AWS": ["${CALLER}", "arn:aws:iam::111122223333:user/jane"]}`),
  }),
];

/** The checks of the roles that an object of any kind names. */
export const TRUST_OF_ROLES: Extra = {
  checks: TRUST_CHECKS,
  bind(input, settings, { kind, namesRoles }) {
    const { inventory = null } = input;
    if (namesRoles === undefined || inventory === null) return [];
    // Controllers read the objects that give roles in the other mode in no way.
    const isUnread = kind.readIn !== undefined && kind.readIn !== settings.mode;
    const trust = new RoleTrust(() => namesRoles(input, settings, inventory), input.trust ?? null, isUnread);
    return [bindChecks(TRUST_CHECKS, trust, null)];
  },
};
