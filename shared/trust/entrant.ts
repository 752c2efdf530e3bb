import { ACCOUNT_ID, parseARN, sessionARN } from "../formats/arn.ts";
import type { Principal } from "./policy-principal.ts";
import { matches, wildcards } from "./wildcard-pattern.ts";

/** Someone whom a trust policy lets in. */
export interface Entrant {
  /** A `pattern` stands for the roles and users whose ARN matches. A `provider` is an identity provider. */
  readonly kind: "any" | "account" | "role" | "user" | "session" | "pattern" | "service" | "provider";
  /** `*`, 12 digits, an ARN, an ARN with wildcards, the name of a service or provider, or that of `ANY_PROVIDER`. */
  readonly name: string;
  /** Null if it is not one account. */
  readonly accountID: string | null;
}

export const ANYONE: Entrant = { kind: "any", name: "*", accountID: null };

/**
 * The entrant for `{"Federated": "*"}`. AWS documents a wildcard only for `AWS`, so the worst is assumed: the users of
 * every identity provider, who come by SAML or with a web identity.
 */
export const ANY_PROVIDER: Entrant = { kind: "provider", name: "Federated *", accountID: null };

export function accountEntrant(accountID: string): Entrant {
  return { kind: "account", name: accountID, accountID };
}

/** A name of a provider that is not in IAM, such as accounts.google.com. */
const PROVIDER_NAME = /^[a-z0-9-]+(\.[a-z0-9-]+)+$/i;
const PROVIDER = /^(saml|oidc)-provider\/./;

/** Returns the entrant for a principal, or null for one that is nobody, such as a unique ID that is left. */
export function entrantOf(principal: Principal): Entrant | null {
  if (principal.kind === "any") return ANYONE;
  if (principal.kind === "account") return accountEntrant(principal.accountID);
  if (principal.kind === "service") return { kind: "service", name: principal.name, accountID: null };
  if (principal.kind === "federated") return providerEntrant(principal.name);
  if (isAnyProvider(principal)) return ANY_PROVIDER;
  if (principal.kind !== "role" && principal.kind !== "user" && principal.kind !== "session") return null;
  return { kind: principal.kind, name: principal.arn, accountID: accountIn(principal.arn) };
}

function isAnyProvider(principal: Principal): boolean {
  return principal.kind === "wildcard" && principal.type === "Federated" && principal.text === "*";
}

function providerEntrant(name: string): Entrant | null {
  const arn = parseARN(name);
  const isProvider = arn === null ? PROVIDER_NAME.test(name) : arn.service === "iam" && PROVIDER.test(arn.resource);
  return isProvider ? { kind: "provider", name, accountID: accountIn(name) } : null;
}

/** Returns the account of an ARN or of an ARN with wildcards; null if it is not 12 digits. */
export function accountIn(arn: string): string | null {
  const accountID = parseARN(arn)?.accountID ?? "";
  return ACCOUNT_ID.test(accountID) ? accountID : null;
}

/** Whether everyone for whom `inner` stands is also one for whom `outer` stands. */
export function contains(outer: Entrant, inner: Entrant): boolean {
  if (outer.kind === "any" || outer.name === inner.name) return true;
  if (outer.kind === "account") return inner.kind !== "provider" && inner.accountID === outer.accountID;
  if (outer.kind === "pattern") {
    const isPossible = inner.kind === "role" || inner.kind === "user";
    return isPossible && matches(wildcards(outer.name), { text: inner.name, isPrefix: false }).answer === "yes";
  }
  return outer.kind === "role" && inner.kind === "session" && inner.name.startsWith(sessionARN(outer.name, ""));
}
