import { quote } from "../formats/text.ts";
import type { Condition } from "./condition.ts";
import type { Statement } from "./policy-document.ts";
import type { Trusted } from "./trusted.ts";

/** What is wrong with letting in a principal by a statement, or null; and what to do. */
export function adviceFor(principal: Trusted, { conditions, principals }: Statement): string {
  if (principals.isNegated) return "IAM does not support NotPrincipal with Allow; write Principal with each caller";
  const weak = conditions.find(isOptional);
  if (weak !== undefined && isAboutCallers(weak)) {
    return `${weak.operatorText} ${weak.key} also allows calls without this key; use an operator such as StringEquals`;
  }
  return ADVICE[principal.kind](principal, conditions);
}

type Advice = (principal: Trusted, conditions: readonly Condition[]) => string;

const INTENDED = "remove it from the policy, or pass it with --intended";
const CONFUSED = "if it is a third party, demand an sts:ExternalId that is unique to you";

const ADVICE: Readonly<Record<Trusted["kind"], Advice>> = {
  any: (_, conditions) => (
    conditions.length === 0 ? "every AWS account can assume the role; name the ARN of each caller"
      : "only the conditions limit who assumes the role; name the ARN of each caller, or demand aws:PrincipalArn"
  ),
  account: (_, conditions) => (
    `everyone whom the account allows can assume the role; name a role of the account${
      hasKey(conditions, "sts:externalid") ? "" : `, and ${CONFUSED}`}`
  ),
  pattern: () => "anyone who can create such a role or user can assume the role; name its whole ARN",
  role: () => INTENDED,
  user: () => `${INTENDED}; a user has long-term keys, so prefer a role`,
  session: () => INTENDED,
  service: adviseService,
  provider: ({ name }, conditions) => (name.includes(":saml-provider/") ? adviseSAML : adviseWebIdentity)(conditions),
};

/** Source: https://docs.aws.amazon.com/IAM/latest/UserGuide/confused-deputy.html */
const SOURCE_KEYS = ["aws:sourcearn", "aws:sourceaccount", "aws:sourceorgid", "aws:sourceorgpaths"];

function adviseService({ name }: Trusted, conditions: readonly Condition[]): string {
  if (name === "pods.eks.amazonaws.com") {
    const isLimited = conditions.some(({ key }) => /^aws:requesttag\/(kubernetes-|eks-cluster-)/i.test(key));
    if (isLimited) return INTENDED;
    return "any Pod that someone associates with the role can assume it; demand aws:SourceAccount, and "
      + "aws:RequestTag/kubernetes-namespace and aws:RequestTag/kubernetes-service-account";
  }
  if (SOURCE_KEYS.some((key) => hasKey(conditions, key))) return INTENDED;
  return `the service can act for other accounts; demand aws:SourceArn or aws:SourceAccount, or ${INTENDED}`;
}

function adviseSAML(conditions: readonly Condition[]): string {
  if (hasKey(conditions, "saml:aud")) return INTENDED;
  return "the provider can send its users from any application; demand SAML:aud";
}

function adviseWebIdentity(conditions: readonly Condition[]): string {
  const subject = conditions.find((condition) => (
    condition.key.toLowerCase().endsWith(":sub") && !isOptional(condition)
  ));
  if (subject === undefined) return "every identity of the provider can assume the role; demand its key sub";
  const { operator, values, operatorText } = subject;
  const broad = values.find((value) => /[*?]/.test(value));
  if (broad === undefined) {
    return conditions.some(({ key }) => /:aud$/i.test(key)) ? INTENDED : `demand the key aud too, or ${INTENDED}`;
  }
  const value = quote(broad.slice(0, 200));
  if (operator?.comparison === "wildcard" || operator?.comparison === "arn") {
    return `every identity whose sub matches ${value} can assume the role; write the whole value`;
  }
  return `${operatorText} reads ${value} as text, so no sub is equal; write the whole value, or use StringLike`;
}

function hasKey(conditions: readonly Condition[], name: string): boolean {
  return conditions.some((condition) => condition.key.toLowerCase() === name && !isOptional(condition));
}

/** Whether a condition is true without its key. */
function isOptional({ operator, values }: Condition): boolean {
  if (operator === null) return false;
  if (operator.comparison === "null") return values.some((value) => value.toLowerCase() === "true");
  return operator.ifExists || operator.set === "all" || (operator.isNegated && operator.set !== "any");
}

/** Whether a condition looks as if it limited who can assume the role. */
function isAboutCallers({ key }: Condition): boolean {
  return /^(sts:externalid|aws:principal.*|aws:source.*|saml:.*|.*:(sub|aud))$/i.test(key);
}
