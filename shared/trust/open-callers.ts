import {
  type AssumeRoleCall, type Caller, isInIAM, type ServiceCaller, type Tags, type TokenCaller,
} from "./assume-role-call.ts";
import { SERVICE_KEYS } from "./added-tags.ts";
import type { Condition } from "./condition.ts";
import type { Policy } from "./policy-document.ts";

/** A call as one of those makes it for whom a caller stands, such as a Pod for a service. */
export interface Variant {
  readonly caller: Caller;
  readonly call: AssumeRoleCall;
  /** The condition keys whose values a statement of the trust policy states. */
  readonly chosenKeys: readonly string[];
}

/** The maximum number of statements whose values are tried. */
const MAX_VARIANTS = 20;

/**
 * Returns the call of a caller, and for a service or an unknown service account also those that have the values that
 * statements of the trust policy demand: the role can be assumed if one of them is allowed. The first one has only
 * values that are known.
 */
export function variantsOf(
  caller: Caller, call: AssumeRoleCall, policy: Policy | null,
): [Variant, ...Variant[]] {
  const chosenKeys: readonly string[] = [];
  if (isInIAM(caller)) return [{ caller, call, chosenKeys }];
  const first = { caller, call: caller.kind === "service" ? withTags(caller, call) : call, chosenKeys };
  const open = openKeys(first);
  const statements = policy === null || open.size === 0 ? [] : policy.statements.slice(0, MAX_VARIANTS);
  return [first, ...statements.flatMap(({ effect, conditions }) => {
    const chosen = effect === "Allow" ? conditions.flatMap((one) => chosenBy(one, open)) : [];
    return chosen.length === 0 ? [] : withValues(first, chosen);
  })];
}

/** Adds the tags that the service sends. What the question states about them is known. */
function withTags({ name }: ServiceCaller, call: AssumeRoleCall): AssumeRoleCall {
  const stated = new Set(Array.from(call.tags.keys(), (key) => key.toLowerCase()));
  const keys = (SERVICE_KEYS.get(name) ?? []).filter((key) => !stated.has(key));
  const tags: Tags = new Map([...keys.map((key): [string, null] => [key, null]), ...call.tags]);
  return { ...call, tags, transitiveTagKeys: [...new Set([...keys, ...call.transitiveTagKeys])] };
}

const TAG = "aws:requesttag/";

/** Returns the condition keys, in lowercase, whose values are those of one Pod or service account. */
function openKeys({ caller, call }: Variant): ReadonlySet<string> {
  if (caller.kind === "token") return new Set(caller.subject === null ? [subjectKey(caller)] : []);
  return new Set([...call.tags].flatMap(([key, value]) => (value === null ? [`${TAG}${key.toLowerCase()}`] : [])));
}

function subjectKey({ provider }: Pick<TokenCaller, "provider">): string {
  return `${issuerOf(provider).toLowerCase()}:sub`;
}

/** Returns the issuer in the ARN of an OIDC provider, with which its condition keys start. */
export function issuerOf(provider: string): string {
  return provider.slice(provider.indexOf("/") + 1);
}

const SUBJECT = /^system:serviceaccount:[a-z0-9.-]+:[a-z0-9.-]+$/;

interface Chosen {
  readonly key: string;
  readonly value: string;
}

/** Returns a value that a condition demands, unless no Pod and no service account can have such a value. */
function chosenBy({ key, operator, values }: Condition, open: ReadonlySet<string>): Chosen[] {
  const name = key.toLowerCase();
  if (!open.has(name) || operator === null || operator.isNegated) return [];
  const isPattern = operator.comparison === "wildcard" || operator.comparison === "arn";
  const texts = values.map((value) => (isPattern ? value.replaceAll(/[*?]+/g, "x") : value));
  const found = texts.find((text) => (name.startsWith(TAG) ? /^[^*?$]+$/ : SUBJECT).test(text));
  return found === undefined ? [] : [{ key, value: found }];
}

function withValues({ caller, call }: Variant, chosen: readonly Chosen[]): Variant[] {
  if (caller.kind === "token") {
    return chosen.map(({ key, value }) => ({ caller: { ...caller, subject: value }, call, chosenKeys: [key] }));
  }
  const values = new Map(chosen.map(({ key, value }) => [key.toLowerCase(), value]));
  const chosenKeys = [...new Set(chosen.map(({ key }) => key))];
  const tags: Tags = new Map(Array.from(call.tags, ([key, value]) => (
    [key, values.get(`${TAG}${key.toLowerCase()}`) ?? value]
  )));
  return [{ caller, call: { ...call, tags }, chosenKeys }];
}
