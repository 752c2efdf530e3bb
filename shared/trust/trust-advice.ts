import { listOf, quote } from "../formats/text.ts";
import type { Condition } from "./condition.ts";
import { ANY_PROVIDER } from "./entrant.ts";
import type { Statement } from "./policy-document.ts";
import type { Trusted } from "./trusted.ts";

/** What is wrong with letting in a principal, or null; and what to do. */
export interface Advice {
  readonly problem: string | null;
  readonly fix: string;
}

/** Returns the advice as a text. */
export function adviceFor(principal: Trusted, statement: Statement): string {
  const { problem, fix } = adviceOf(principal, statement);
  return problem === null ? fix : `${problem}; ${fix}`;
}

/** Returns the advice about a principal that a statement lets in. */
export function adviceOf(principal: Trusted, { conditions, principals }: Statement): Advice {
  if (principals.isNegated) {
    return { problem: "IAM does not support NotPrincipal with Allow", fix: "write Principal with each caller" };
  }
  const weak = conditions.find(isOptional);
  if (weak !== undefined && isAboutCallers(weak)) {
    const problem = `${weak.operatorText} ${weak.key} also allows calls without this key`;
    return { problem, fix: "use an operator such as StringEquals" };
  }
  return ADVICE[principal.kind](principal, conditions);
}

/** Source: https://docs.aws.amazon.com/IAM/latest/UserGuide/confused-deputy.html */
const SOURCE_KEYS = ["aws:sourcearn", "aws:sourceaccount", "aws:sourceorgid", "aws:sourceorgpaths"];

/** Keys that tell who calls, or from where, and that callers of other accounts cannot choose. */
const LIMITING: ReadonlySet<string> = new Set([
  "aws:principalarn", "aws:principalaccount", "aws:principalorgid", "aws:principalorgpaths", "aws:userid",
  "aws:sourceip", "aws:vpcsourceip", "aws:sourcevpc", "aws:sourcevpce", ...SOURCE_KEYS,
]);

/** Whether a statement for everyone demands by a condition who calls. */
export function limitsCallers({ conditions }: Pick<Statement, "conditions">): boolean {
  return conditions.some((condition) => (
    LIMITING.has(condition.key.toLowerCase()) && !isOptional(condition) && !condition.values.some(isEverything)
  ));
}

function isEverything(value: string): boolean {
  return /^(\*+|0\.0\.0\.0\/0|::\/0)$/.test(value);
}

type Adviser = (principal: Trusted, conditions: readonly Condition[]) => Advice;

const REMOVE = "remove it from the policy, or pass it with --intended";
const INTENDED: Advice = { problem: null, fix: REMOVE };
const CONFUSED = "if it is a third party, demand an sts:ExternalId that is unique to you";

const ADVICE: Readonly<Record<Trusted["kind"], Adviser>> = {
  any: (_, conditions) => (conditions.length === 0
    ? { problem: "every AWS account can assume the role", fix: "name the ARN of each caller" }
    : {
      problem: `only the conditions on ${listOf(conditions.map(({ key }) => key))} limit who assumes the role`,
      fix: "name the ARN of each caller, or demand aws:PrincipalArn",
    }),
  account: (_, conditions) => ({
    problem: "everyone whom the account allows can assume the role",
    fix: `name a role of the account${hasKey(conditions, "sts:externalid") ? "" : `, and ${CONFUSED}`}`,
  }),
  pattern: () => ({
    problem: "anyone who can create such a role or user can assume the role", fix: "name its whole ARN",
  }),
  role: () => INTENDED,
  user: () => ({ problem: null, fix: `${REMOVE}; a user has long-term keys, so prefer a role` }),
  session: () => INTENDED,
  service: adviseService,
  provider: adviseProvider,
};

function adviseProvider({ name }: Trusted, conditions: readonly Condition[]): Advice {
  if (name === ANY_PROVIDER.name) {
    return { problem: "the users of every identity provider can assume the role", fix: "name the provider" };
  }
  return name.includes(":saml-provider/") ? adviseSAML(conditions) : adviseWebIdentity(conditions);
}

/**
 * The services that send `aws:SourceArn` and `aws:SourceAccount` when they assume a role, as the page of each says of
 * its trust policy. AWS has no list of them, and the role of another service can stop working with such a condition:
 * EC2, for example, sends neither (prowler-cloud/prowler#2810, #4714 and #7021).
 */
const SENDS_SOURCE: ReadonlySet<string> = new Set([
  // https://docs.aws.amazon.com/appstream2/latest/developerguide/example-fleet-machine.html
  "appstream.amazonaws.com",
  // https://docs.aws.amazon.com/autoscaling/ec2/userguide/cross-service-confused-deputy-prevention.html
  "autoscaling.amazonaws.com",
  // https://docs.aws.amazon.com/codebuild/latest/userguide/setting-up-service-role.html
  "codebuild.amazonaws.com",
  // https://docs.aws.amazon.com/frauddetector/latest/ug/confused-deputy-prevention.html
  "frauddetector.amazonaws.com",
  // https://docs.aws.amazon.com/iot-device-defender/latest/devguide/dd-cross-service-confused-deputy-prevention.html
  "iot.amazonaws.com",
  // https://docs.aws.amazon.com/personalize/latest/dg/cross-service-confused-deputy-prevention.html
  "personalize.amazonaws.com",
  // https://docs.aws.amazon.com/vpc/latest/userguide/flow-logs-iam-role.html
  "vpc-flow-logs.amazonaws.com",
]);

function adviseService({ name }: Trusted, conditions: readonly Condition[]): Advice {
  if (name === "pods.eks.amazonaws.com") {
    const isLimited = conditions.some(({ key }) => /^aws:requesttag\/(kubernetes-|eks-cluster-)/i.test(key));
    return isLimited ? INTENDED : {
      problem: "any Pod that someone associates with the role can assume it",
      fix: "demand aws:SourceAccount, and aws:RequestTag/kubernetes-namespace and "
        + "aws:RequestTag/kubernetes-service-account",
    };
  }
  if (!SENDS_SOURCE.has(name) || SOURCE_KEYS.some((key) => hasKey(conditions, key))) return INTENDED;
  const fix = `demand aws:SourceArn or aws:SourceAccount, or ${REMOVE}`;
  return { problem: "the service can act for other accounts", fix };
}

function adviseSAML(conditions: readonly Condition[]): Advice {
  if (hasKey(conditions, "saml:aud")) return INTENDED;
  return { problem: "the provider can send its users from any application", fix: "demand SAML:aud" };
}

function adviseWebIdentity(conditions: readonly Condition[]): Advice {
  const subject = conditions.find((condition) => (
    condition.key.toLowerCase().endsWith(":sub") && !isOptional(condition)
  ));
  if (subject === undefined) {
    return { problem: "every identity of the provider can assume the role", fix: "demand its key sub" };
  }
  const { operator, values, operatorText } = subject;
  const broad = values.find((value) => /[*?]/.test(value));
  if (broad === undefined) {
    const hasAudience = conditions.some(({ key }) => /:aud$/i.test(key));
    return hasAudience ? INTENDED : { problem: null, fix: `demand the key aud too, or ${REMOVE}` };
  }
  const value = quote(broad.slice(0, 200));
  if (operator?.comparison === "wildcard" || operator?.comparison === "arn") {
    return { problem: `every identity whose sub matches ${value} can assume the role`, fix: "write the whole value" };
  }
  const problem = `${operatorText} reads ${value} as text, so no sub is equal`;
  return { problem, fix: "write the whole value, or use StringLike" };
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
