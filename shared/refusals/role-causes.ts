import { listOf, quote } from "../formats/text.ts";
import { MAX_CHAINED_SECONDS } from "../core/session.ts";
import {
  type Cause, type Denial, isAcrossAccounts, partsOf, type RefusedAssumeRole, type Refusal, type Row,
} from "./refused-call.ts";

/** The causes of a refused call of AssumeRole; the first one that applies is the likely one. */
export const ROLE_CAUSES: readonly Row<RefusedAssumeRole>[] = [
  {
    applies: ({ answer }) => /assumed by root accounts/i.test(answer.message),
    explain: () => ({
      cause: "the caller is the root user of an account, which cannot assume roles",
      fix: "use the credentials of a role", shownBy: "trust check",
    }),
  },
  { explain: otherPartition },
  { explain: deniedByPolicy },
  {
    applies: ({ denial }) => denial?.action === "sts:TagSession",
    explain: (refusal) => ({
      cause: refusal.call.sent.tagKeys.length > 0 ? "the call sends session tags"
        : "the session of the caller passes on session tags, such as those that EKS Pod Identity adds",
      fix: allow("sts:TagSession", refusal, ", in a statement without a condition on sts:ExternalId"),
      shownBy: "trust check",
    }),
  },
  {
    applies: ({ denial }) => denial?.action === "sts:SetSourceIdentity",
    explain: (refusal) => ({
      cause: refusal.call.sent.sourceIdentity === null ? "the session of the caller passes on its source identity"
        : "the call sends a source identity",
      fix: allow("sts:SetSourceIdentity", refusal), shownBy: "trust check",
    }),
  },
  { applies: ({ denial }) => denial !== null, explain: denied },
  {
    applies: ({ answer }) => /role chaining/i.test(answer.message),
    explain: ({ call }) => ({
      cause: `the session of ${call.sent.durationSeconds} s is longer than role chaining allows`,
      fix: `set ${call.owner.durationField} to at most ${MAX_CHAINED_SECONDS}`, shownBy: "trust check",
    }),
  },
  {
    applies: ({ answer }) => answer.message.includes("MaxSessionDuration"),
    explain: ({ call }) => ({
      cause: `the session of ${call.sent.durationSeconds} s is longer than MaxSessionDuration of the role, which only `
        + "get-role and list-roles contain",
      fix: `increase MaxSessionDuration, or reduce ${call.owner.durationField}`, shownBy: "trust check",
    }),
  },
  {
    applies: ({ answer, call: { sent, hasPodTags } }) => (
      answer.code === "PackedPolicyTooLarge" && (sent.tagKeys.length > 0 || hasPodTags)
    ),
    explain: ({ call }) => ({
      cause: `${largeParts(call)} together exceed what STS can store in a session`,
      fix: call.hasPodTags ? "shorten them, or set disableSessionTags of the Pod Identity association" : "shorten them",
      shownBy: null,
    }),
  },
];

function otherPartition({ call }: Refusal<RefusedAssumeRole>): Cause | null {
  const [own, other] = [partsOf(call.caller ?? "")?.partition, partsOf(call.roleARN)?.partition];
  if (own === undefined || other === undefined || own === other) return null;
  return {
    cause: `the caller is in the partition ${quote(own)}, and the role in ${quote(other)}`,
    fix: `name a role of the partition of the caller in ${call.owner.roleField}`, shownBy: "trust check",
  };
}

function deniedByPolicy({ denial }: Refusal<RefusedAssumeRole>): Cause | null {
  if (denial === null || (!denial.isExplicit && denial.side !== "outside")) return null;
  const { policy, isExplicit, side } = denial;
  const isOutside = side === "outside";
  return {
    cause: isExplicit ? `a statement of a ${policy} denies it` : `no ${policy} allows it`,
    fix: `${isExplicit ? "remove or narrow this statement" : "allow it there"}${
      isOutside ? "; exports of IAM do not contain such policies" : ""}`,
    shownBy: isOutside ? null : "trust check",
  };
}

/** STS answers alike if the role does not exist, if a policy denies the call, and if the external ID is wrong. */
function denied(refusal: Refusal<RefusedAssumeRole>): Cause {
  const { call, denial } = refusal;
  const actions = [
    `sts:AssumeRole${call.sent.hasExternalID ? ` with the external ID of the ${call.owner.noun}` : ""}`,
    ...(call.sent.tagKeys.length > 0 || call.hasPodTags || call.hasIdentityTags ? ["sts:TagSession"] : []),
    ...(call.sent.sourceIdentity === null ? [] : ["sts:SetSourceIdentity"]),
  ];
  const fix = `${allow(actions.join(", "), refusal)}, or name another role in ${call.owner.roleField}`;
  return { cause: deniedCause(call, denial), fix, shownBy: "trust check" };
}

function deniedCause(call: RefusedAssumeRole, denial: Denial | null): string {
  if (isOwnRole(call)) return "since 2022, a role that assumes itself must be named in its own trust policy";
  const policy = denial?.side === "caller" ? denial.policy : null;
  if (policy !== null && policy !== "identity-based policy") return `the ${policy} of the caller does not allow it`;
  if (policy !== null && isAcrossAccounts(call)) return "no policy of the caller allows it";
  const external = call.sent.hasExternalID ? "another external ID" : "an external ID, which the call lacks";
  const own = isAcrossAccounts(call) ? ", or no policy of the caller allows it" : "";
  return `the role does not exist, or its trust policy does not allow the caller or demands ${external}${own}`;
}

/** Whether a session assumes its own role. The ARN of a session has no path. */
function isOwnRole({ caller, roleARN }: RefusedAssumeRole): boolean {
  const [own, role] = [partsOf(caller ?? ""), partsOf(roleARN)];
  if (own === null || role === null || own.roleName === "" || own.accountID !== role.accountID) return false;
  return own.isSession ? own.roleName === role.roleName : caller === roleARN;
}

/** Returns an imperative with the places that must allow the actions. Role chaining needs a source identity on both. */
function allow(
  actions: string, { call, denial, principal }: Refusal<RefusedAssumeRole>, condition = "",
): string {
  const needsBoth = isAcrossAccounts(call) || denial?.action === "sts:SetSourceIdentity";
  if (needsBoth && denial?.side === "caller") return `allow ${actions} on the role in a policy of ${principal}`;
  const other = needsBoth && denial?.side !== "trust" ? ", and on the role in a policy of the caller" : "";
  return `allow ${actions} to ${principal} in the trust policy of the role${condition}${other}`;
}

function largeParts({ sent, hasPodTags }: RefusedAssumeRole): string {
  return listOf([
    ...(sent.tagKeys.length > 0 ? ["the session tags"] : []), ...(sent.hasPolicy ? ["the session policy"] : []),
    ...(hasPodTags ? ["the tags that EKS Pod Identity adds"] : []),
  ]);
}
