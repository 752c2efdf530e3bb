import { ACCOUNT_ID, parseARN } from "../formats/arn.ts";
import { quote } from "../formats/text.ts";
import { ANY_PROVIDER, contains, type Entrant, entrantOf } from "./entrant.ts";
import { parsePrincipal } from "./policy-principal.ts";
import { QuestionError } from "./trust-question.ts";

/** Those who are intended to assume roles. */
export class Intended {
  readonly #entrants: readonly Entrant[];
  readonly #accounts: ReadonlySet<string | null>;
  readonly #names: ReadonlySet<string>;
  readonly #texts: readonly string[];

  /** Throws a QuestionError if a text is not an ARN, an account, or the name of a service or an identity provider. */
  constructor(texts: readonly string[]) {
    const entrants = texts.map(parseIntended);
    this.#texts = texts;
    this.#names = new Set(entrants.map(({ name }) => name));
    this.#accounts = new Set(entrants.flatMap(({ kind, accountID }) => (kind === "account" ? [accountID] : [])));
    this.#entrants = entrants.filter(({ kind }) => kind === "role");
  }

  /** Returns these and more. */
  with(texts: readonly string[]): Intended {
    return texts.length === 0 ? this : new Intended([...this.#texts, ...texts]);
  }

  /** Whether a role in the account is intended. */
  isHome(account: string): boolean {
    return this.#entrants.some(({ accountID }) => accountID === account);
  }

  /**
   * Whether an entrant is intended: itself, as a session of an intended role, or in an intended account. The users of
   * an identity provider are in no account.
   */
  has(entrant: Entrant): boolean {
    if (this.#names.has(entrant.name)) return true;
    if (entrant.kind !== "provider" && entrant.accountID !== null && this.#accounts.has(entrant.accountID)) return true;
    return entrant.kind === "session" && this.#entrants.some((role) => contains(role, entrant));
  }
}

function parseIntended(text: string): Entrant {
  const found = text === "*" ? null : entrantNamed(text);
  if (found !== null) return found;
  throw new QuestionError(
    `${quote(text)} is not an ARN, an account of 12 digits, or the name of a service or an identity provider`,
  );
}

function entrantNamed(text: string): Entrant | null {
  if (text === ANY_PROVIDER.name) return ANY_PROVIDER;
  const isAWS = ACCOUNT_ID.test(text) || (parseARN(text) !== null && !text.includes("-provider/"));
  const isService = /\.amazonaws\.com(\.cn)?$/.test(text);
  const type = isAWS ? "AWS" : isService ? "Service" : "Federated";
  return entrantOf(parsePrincipal(type, text)) ?? (isAWS && /[*?]/.test(text) ? patternOf(text) : null);
}

function patternOf(name: string): Entrant {
  return { kind: "pattern", name, accountID: null };
}
