import type { RoleTarget } from "../core/role-target.ts";
import { accountOfARN } from "../formats/arn.ts";
import { NOTHING_SENT, type OtherCaller, type Tags, type TokenCaller } from "./assume-role-call.ts";
import type { IAMData } from "./iam-data.ts";
import type { DocumentText } from "./iam-objects.ts";
import type { Answer } from "./three-values.ts";
import { type Answered, answerFor, callerWithoutPolicies, parseTarget } from "./trust-question.ts";

/** How a controller gets the role with which it starts. */
export interface RoleOwner {
  /** `NAMESPACE/NAME` of the Deployment; null for one that is only stated by its role. */
  readonly name: string | null;
  readonly roleARN: string;
  readonly through: "irsa" | "pod-identity" | "eks-capability";
  /** `NAMESPACE/NAME` of the service account; null if it is not known. */
  readonly account: string | null;
}

/** Whether a controller gets its own role, without which it assumes no other one. */
export interface OwnRoleRow extends Answered {
  readonly target: RoleTarget;
  readonly caller: { readonly arn: string; readonly via: RoleOwner["through"]; readonly credentials: null };
  readonly through: null;
}

/** The audience of the tokens that EKS mounts: aws/amazon-eks-pod-identity-webhook, --token-audience. */
const AUDIENCE = "sts.amazonaws.com";
const SERVICES = {
  "pod-identity": "pods.eks.amazonaws.com", "eks-capability": "capabilities.eks.amazonaws.com",
} as const;

/** Returns whether a controller gets its own role. */
export function ownRoleRow(owner: RoleOwner, data: IAMData, nowSeconds: number): OwnRoleRow {
  const { name, roleARN, through } = owner;
  const call = { ...NOTHING_SENT, role: parseTarget(roleARN), tags: tagsOf(owner) };
  const best = callersOf(owner, data).map((one) => answerFor(callerWithoutPolicies(one), call, data, nowSeconds))
    .reduce((a, b) => (RANKS[b.decision.verdict] < RANKS[a.decision.verdict] ? b : a));
  const target: RoleTarget = name === null ? { kind: "role", name: roleARN, roleARN }
    : { kind: "controller", name, roleARN };
  const arn = through === "irsa" ? subjectOf(owner) ?? "system:serviceaccount:*" : SERVICES[through];
  return { ...best, target, caller: { arn, via: through, credentials: null }, through: null };
}

const RANKS: Readonly<Record<Answer, number>> = { yes: 0, unknown: 1, no: 2 };

function subjectOf({ account }: RoleOwner): string | null {
  return account === null ? null : `system:serviceaccount:${account.replace("/", ":")}`;
}

/** The tags of EKS Pod Identity that the service account decides. */
function tagsOf({ through, account }: RoleOwner): Tags {
  if (through !== "pod-identity" || account === null) return new Map();
  const at = account.indexOf("/");
  return new Map([
    ["kubernetes-namespace", account.slice(0, at)], ["kubernetes-service-account", account.slice(at + 1)],
  ]);
}

/**
 * Returns those who can call STS for the controller. Its token comes from the issuer of the cluster, which manifests do
 * not state: the providers that the trust policy names in the account of the role are tried.
 */
function callersOf(owner: RoleOwner, data: IAMData): readonly OtherCaller[] {
  const { roleARN, through } = owner;
  if (through !== "irsa") return [{ kind: "service", name: SERVICES[through] }];
  const named = providersIn(data.role(roleARN)?.trust ?? null, data).filter((one) => isOfAccount(one, roleARN));
  const none = [`${roleARN.slice(0, roleARN.indexOf(":role/"))}:oidc-provider/ISSUER`];
  return (named.length > 0 ? named : none).slice(0, MAX_PROVIDERS).map((provider): TokenCaller => (
    { kind: "token", provider, subject: subjectOf(owner), audience: AUDIENCE }
  ));
}

/** The maximum number of providers that are tried. */
const MAX_PROVIDERS = 20;

function providersIn(trust: DocumentText | null, data: IAMData): string[] {
  const policy = trust === null ? null : data.parse(trust, "trust").policy;
  const principals = (policy?.statements ?? []).flatMap(({ principals: { items } }) => items);
  return [...new Set(principals.flatMap((one) => (one.kind === "federated" ? [one.name] : [])))];
}

/** STS accepts a token only from a provider in the account of the role. */
function isOfAccount(provider: string, roleARN: string): boolean {
  return provider.includes(":oidc-provider/") && accountOfARN(provider) === accountOfARN(roleARN);
}
