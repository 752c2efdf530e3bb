import { parseJSON, stringAt } from "../../../shared/formats/json.ts";
import { callerOf, KEYS } from "../identity-subject.ts";
import type { Answers } from "./answers.ts";
import { OWN_KEY } from "./manager.ts";
import type { Signer } from "./rejecting-ec2.ts";

const KEY_ANSWERS: Readonly<Record<string, string>> = {
  [OWN_KEY]: "default", [KEYS.one.accessKeyID]: "static base", [KEYS.two.accessKeyID]: "static test-account",
};

/** Texts of the errors for which the manager refuses an identity. */
const REFUSALS: readonly (readonly [text: string, code: string])[] = [
  ["Namespace is not permitted to use", "ERR_IDENTITY_NAMESPACE"],
  ["failed to get label selector", "ERR_IDENTITY_SELECTOR"],
  [" not found", "ERR_IDENTITY_UNKNOWN"],
];

/**
 * What the manager does with each cluster, from its log and from the signers of its requests to EC2. Each
 * reconciliation fails: the manager refuses the identity, or EC2 rejects the request.
 */
export class UsedCredentials {
  readonly #log: () => Promise<string>;
  readonly #signers: ReadonlyMap<string, Signer>;
  readonly #sts: string;
  /** The answers of STS, by access key. */
  readonly #callers = new Map<string, Promise<string>>();

  constructor(log: () => Promise<string>, signers: ReadonlyMap<string, Signer>, sts: string) {
    this.#log = log;
    this.#signers = signers;
    this.#sts = sts;
  }

  /** Returns the answers of the last reconciliations. Any other error is an answer of its own. */
  async answers(): Promise<Answers> {
    const lines = (await this.#log()).split("\n").filter((line) => line.includes('"Reconciler error"')).map(parseJSON);
    const errors = new Map(lines.map((line) => [stringAt(line, "name") ?? "", stringAt(line, "err") ?? ""]));
    return Object.fromEntries(await Promise.all(Array.from(errors, async ([name, error]) => {
      if (error.includes("UnauthorizedOperation")) return [name, await this.#used(this.#signers.get(name))];
      return [name, REFUSALS.find(([text]) => error.includes(text))?.[1] ?? error];
    })));
  }

  async #used(signer: Signer | undefined): Promise<string> {
    if (signer === undefined) return "no request";
    const known = KEY_ANSWERS[signer.accessKeyID];
    if (known !== undefined) return known;
    const caller = this.#callers.get(signer.accessKeyID) ?? this.#callerOf(signer);
    this.#callers.set(signer.accessKeyID, caller);
    return await caller;
  }

  /** moto verifies no signatures, so the secret key can be any text. */
  async #callerOf({ accessKeyID, sessionToken }: Signer): Promise<string> {
    const keys = { AccessKeyId: accessKeyID, SecretAccessKey: "any", Token: sessionToken };
    const arn = await callerOf(this.#sts, keys);
    return arn.replace(":sts:", ":iam:").replace(/:assumed-role\/([^/]+)\/.*/, ":role/$1");
  }
}
