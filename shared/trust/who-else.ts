import { formatFieldPath } from "../formats/json.ts";
import { compareText } from "../formats/text.ts";
import { ANY_PROVIDER, ANYONE, type Entrant } from "./entrant.ts";
import type { IAMData } from "./iam-data.ts";
import type { IAMRole, UnnamedRole } from "./iam-objects.ts";
import { Intended } from "./intended.ts";
import { fixOfManagedRole } from "./managed-roles.ts";
import { rejectionOf, rejectionText } from "./planned-policy.ts";
import { adviceFor } from "./trust-advice.ts";
import type { PolicyFault } from "./policy-text.ts";
import type { TrustChain, TrustChains } from "./trust-chains.ts";
import { trustedBy } from "./trusted.ts";

/** Who else can assume a role. */
export interface WhoElse {
  readonly role: string;
  /** Everyone whom the trust policy lets in and who is not intended, sorted by name. */
  readonly unintended: readonly Pick<Entrant, "name">[];
  readonly chains: readonly TrustChain[];
  /** Whether results of other roles can have the same lists. Default: false. */
  readonly isShared?: boolean;
}

/** The result for a role, or why there is none. */
export type WhoElseOrFault = WhoElse | { readonly role: string; readonly fault: string };

/** Returns who can assume a role besides those who are intended. `sources` are also meant to assume this role. */
export function whoElse(
  role: string, data: IAMData, chains: TrustChains, sources: readonly string[] = [],
): WhoElseOrFault {
  const unnamed = data.unnamed.get(role);
  if (unnamed !== undefined) return whoElseUnnamed(role, unnamed, data, chains.intended);
  const { isEmpty, ...found } = chains.of(role);
  const fault = faultOf(role, isEmpty, data);
  if (fault !== null) return { role, fault };
  if (sources.length === 0) return { role, ...found };
  const also = new Intended(sources);
  return { role, unintended: found.unintended.filter((one) => !also.has(one)), chains: found.chains };
}

/**
 * Returns who can assume a role whose ARN is not known. Who reaches it through other roles is not known either, because
 * their policies name the ARN.
 */
function whoElseUnnamed(
  name: string, { trust }: Pick<UnnamedRole, "trust">, data: IAMData, intended: Intended,
): WhoElseOrFault {
  const rejection = rejectionOf({ arn: name, trust, isStored: false }, data);
  if (rejection?.isCertain === true) return { role: name, fault: rejectionText(rejection) };
  if (trust === null) return { role: name, fault: "its trust policy is not known yet" };
  const { policy, fault } = data.parse(trust, "trust");
  if (policy === null) return { role: name, fault: faultText(fault) };
  return { role: name, unintended: trustedBy(policy).filter((one) => !intended.has(one)), chains: [] };
}

/**
 * Why nobody can tell who could assume the role; null if there is no reason. Only a role that lets nobody in can lack a
 * trust policy that can be read.
 */
function faultOf(arn: string, isEmpty: boolean, data: IAMData): string | null {
  const role = data.role(arn);
  if (role === null) return missingText(arn, data);
  const unread = isEmpty ? unreadText(role, data) : null;
  if (unread !== null) return unread;
  const rejection = rejectionOf(role, data);
  return rejection?.isCertain === true ? rejectionText(rejection) : null;
}

function unreadText({ trust }: IAMRole, data: IAMData): string | null {
  if (trust === null) return "no file contains its trust policy; pass the export of its account with --iam";
  const { fault } = data.parse(trust, "trust");
  return fault === null ? null : faultText(fault);
}

function faultText({ path, message }: PolicyFault): string {
  const at = formatFieldPath(path);
  return `the trust policy is not valid: ${at === "" ? "" : `${at}: `}${message}`;
}

function missingText(arn: string, data: IAMData): string {
  if (data.hasAll("role", arn)) {
    return "the role does not exist in the export of its account; check the ARN and its path";
  }
  return "no export contains the role; pass the export of its account with --iam";
}

/** The result in the format of `-o json`. */
export interface WhoElseJSON {
  readonly role: string;
  readonly unintended: readonly string[];
  readonly chains: readonly TrustChain[];
}

/** Lists the users of every identity provider as `*`, like everyone: programs look for this name. */
export function whoElseJSON({ role, unintended, chains }: WhoElse): WhoElseJSON {
  const names = new Set(unintended.map(({ name }) => (name === ANY_PROVIDER.name ? ANYONE.name : name)));
  return { role, unintended: [...names].toSorted(compareText), chains };
}

/** Writes results in one line each. Builds once what shared results have after the role. */
export class WhoElseText {
  readonly #known = new WeakMap<WhoElse["chains"], string>();

  of(result: WhoElse): string {
    const { role, chains, isShared } = result;
    if (isShared !== true) return JSON.stringify(whoElseJSON(result));
    const known = this.#known.get(chains);
    if (known !== undefined) return `{"role":${JSON.stringify(role)},${known}`;
    const { role: _, ...rest } = whoElseJSON(result);
    this.#known.set(chains, JSON.stringify(rest).slice(1));
    return this.of(result);
  }
}

/** Returns the result as lines. Quotes only the trust policy of the role itself, without the values of conditions. */
export function whoElseLines({ role, unintended, chains }: WhoElse, data: IAMData): string[] {
  const names = new Set(unintended.map(({ name }) => name));
  const unnamed = data.unnamed.get(role) ?? null;
  const policy = names.size === 0 ? null : data.parse((unnamed ?? data.role(role))?.trust ?? "", "trust").policy;
  const managed = fixOfManagedRole(role);
  const trusted = policy === null ? [] : trustedBy(policy).filter(({ name }) => names.has(name));
  return [
    `${role}${unnamed === null ? "" : UNNAMED}: ${unintended.length === 0 ? "nobody else" : unintended.length}`,
    ...trusted.flatMap((one) => [
      `  ${one.name}${KINDS[one.kind] ?? ""}`,
      ...one.statements.flatMap((statement) => {
        const conditions = statement.conditions.map(({ operatorText, key }) => `${operatorText} ${key}`);
        const under = conditions.length === 0 ? "" : `, if ${conditions.join(", ")}`;
        const fix = managed ?? adviceFor(one, statement);
        return [`    statement ${statement.sid ?? statement.index}${under}`, `    fix: ${fix}`];
      }),
    ]),
    ...chains.map(({ principal, through, verdict }) => (
      `  ${verdict === "yes" ? "chain" : "possible chain"}: ${[principal, ...through].join(" -> ")}`
    )),
  ];
}

const UNNAMED = " (a role whose name is not known yet)";

const KINDS: Partial<Record<Entrant["kind"], string>> = {
  any: " (everyone)", account: " (an account)", pattern: " (every role and user that matches)",
  service: " (a service)", provider: " (an identity provider)",
};

/** Returns the ARNs of all roles, sorted. */
export function sortedRoles(roles: Iterable<Pick<IAMRole, "arn">>): string[] {
  return Array.from(roles, ({ arn }) => arn).toSorted();
}
