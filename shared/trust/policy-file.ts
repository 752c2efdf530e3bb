import { field, isJsonObject } from "../formats/json.ts";
import { objectOf } from "./iam-objects.ts";
import { type IAMReader, kindOfARN, type ReaderContext } from "./iam-reader.ts";
import type { JSONElement } from "./json-elements.ts";

/**
 * Reads a policy document, or the output of `aws iam get-policy-version`. Neither states what it belongs to: a document
 * with principals is the trust policy of a role, another one is a managed policy.
 */
export class PolicyFile implements IAMReader {
  readonly #context: ReaderContext;
  readonly #members = new Map<string, unknown>();
  readonly #statements: unknown[] = [];

  constructor(context: ReaderContext) {
    this.#context = context;
  }

  add({ key, index, value }: JSONElement): void {
    if (key === "Statement" && index !== null) this.#statements.push(value);
    else if (this.#members.has(key)) throw new Error("the file contains several documents; pass one file for each");
    else this.#members.set(key, value);
  }

  finish(): void {
    const version = this.#members.get("PolicyVersion");
    if (version === undefined) this.#addDocument(this.#document());
    else if (field(version, "IsDefaultVersion") === false) {
      throw new Error("the version of the policy is not the default version, so that it has no effect");
    } else this.#addDocument(field(version, "Document"));
  }

  #document(): object {
    const members = Object.fromEntries(this.#members);
    const { Statement: stated } = members;
    return { ...members, Statement: isJsonObject(stated) ? stated : this.#statements };
  }

  #addDocument(document: unknown): void {
    const { data, file, subject } = this.#context;
    const arn = subject?.arn ?? "";
    const kind = kindOfARN(arn);
    const isTrust = this.#statements.concat(field(document, "Statement")).some((one) => (
      field(one, "Principal") !== undefined || field(one, "NotPrincipal") !== undefined
    ));
    if (kind === "policy" && !isTrust) data.addPolicy(arn, document, file);
    else if (kind === "role" && isTrust) data.add({ ...objectOf(kind, arn, file), trust: data.textOf(document) });
    else throw new Error(isTrust ? TRUST_FIX : POLICY_FIX);
  }
}

const TRUST_FIX = "a trust policy does not state its role; pass the ARN: --iam arn:aws:iam::ACCOUNT:role/NAME=FILE";
const POLICY_FIX = "a policy does not state its ARN; pass it: --iam arn:aws:iam::ACCOUNT:policy/NAME=FILE. "
  + "Pass an inline policy as the output of aws iam get-role-policy";
