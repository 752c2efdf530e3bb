import { field, isJsonObject, stringAt } from "../formats/json.ts";
import { ACKManifests } from "./ack-manifests.ts";
import { AuthorizationDetails, LISTS } from "./authorization-details.ts";
import {
  boundaryAt, documentAt, type IAMReader, kindOfARN, listAt, notePage, numberAt, type ReaderContext, tagsOf, withARN,
} from "./iam-reader.ts";
import type { JSONElement } from "./json-elements.ts";
import { ObjectPolicies } from "./object-policies.ts";
import { TerraformJSON } from "./terraform-json.ts";
import { EVERY_GAP, type Gap, objectOf } from "./iam-objects.ts";

/** A kind of input. */
interface IAMInput {
  readonly name: string;
  /** The top-level keys by which it is recognized. */
  readonly keys: readonly string[];
  readonly open: (context: ReaderContext) => IAMReader;
}

const INPUTS: readonly IAMInput[] = [
  {
    name: "aws iam get-account-authorization-details", keys: LISTS,
    open: (context) => new AuthorizationDetails(context),
  },
  { name: "aws iam get-role", keys: ["Role"], open: (context) => new GetRole(context) },
  { name: "aws iam list-roles", keys: ["Roles"], open: (context) => new GetRole(context) },
  {
    name: "aws iam get-role-policy", keys: ["PolicyName", "PolicyDocument", "RoleName", "UserName", "GroupName"],
    open: (context) => new ObjectPolicies(context),
  },
  { name: "aws iam list-role-policies", keys: ["PolicyNames"], open: (context) => new ObjectPolicies(context) },
  {
    name: "aws iam list-attached-role-policies", keys: ["AttachedPolicies"],
    open: (context) => new ObjectPolicies(context),
  },
  { name: "aws iam get-policy-version", keys: ["PolicyVersion"], open: (context) => new PolicyFile(context) },
  { name: "a policy document", keys: ["Statement"], open: (context) => new PolicyFile(context) },
  {
    name: "terraform show -json",
    keys: ["format_version", "terraform_version", "values", "resource_changes", "configuration", "lineage"],
    open: (context) => new TerraformJSON(context),
  },
  {
    name: "manifests of iam.services.k8s.aws", keys: ["apiVersion", "kind", "metadata", "spec", "status", "items"],
    open: (context) => new ACKManifests(context),
  },
];

const BY_KEY: ReadonlyMap<string, IAMInput> = new Map(INPUTS.flatMap((input) => input.keys.map((key) => [key, input])));
/** The number of members before the first that is recognized that are kept. */
const MAX_EARLY = 100;

/** Recognizes a file by its content and reads it. */
export class IAMFile implements IAMReader {
  readonly #context: ReaderContext;
  #input: IAMInput | null = null;
  #reader: IAMReader | null = null;
  #early: JSONElement[] = [];

  constructor(context: ReaderContext) {
    this.#context = context;
  }

  add(element: JSONElement): void {
    if (isTemplate(element)) throw templateError();
    const input = BY_KEY.get(element.key);
    if (input !== undefined && input !== this.#input) this.#open(input);
    if (this.#reader !== null) this.#reader.add(element);
    else if (typeof element.value !== "object" && this.#early.length < MAX_EARLY) this.#early.push(element);
  }

  finish(): void {
    if (this.#reader === null) throw unrecognized();
    this.#reader.finish();
  }

  #open(input: IAMInput): void {
    if (this.#input !== null) {
      throw new Error(`the file contains ${this.#input.name} and ${input.name}; pass one file for each`);
    }
    this.#input = input;
    this.#reader = input.open(this.#context);
    for (const element of this.#early) this.#reader.add(element);
    this.#early = [];
  }
}

function isTemplate({ key, value }: JSONElement): boolean {
  if (key !== "Resources" || !isJsonObject(value)) return key === "AWSTemplateFormatVersion";
  return Object.values(value).some((resource) => stringAt(resource, "Type")?.startsWith("AWS::") === true);
}

/** Returns the error for a CloudFormation template. */
export function templateError(): Error {
  return new Error("a CloudFormation template, whose functions only AWS evaluates; deploy the stack and pass "
    + "aws iam get-account-authorization-details, or pass terraform show -json or manifests of iam.services.k8s.aws");
}

/** Returns the error for a file of another kind. */
export function unrecognized(): Error {
  return new Error(`not a known kind of file; pass one of: ${INPUTS.map(({ name }) => name).join(", ")}`);
}

const POLICY_GAPS: readonly Gap[] = EVERY_GAP.filter(({ part }) => part !== "permissions boundary");

/**
 * Reads the output of `aws iam get-role`, any number of times in a row, and of `aws iam list-roles`. Neither has the
 * policies of a role, and a list has neither its boundary nor its tags.
 */
class GetRole implements IAMReader {
  readonly #context: ReaderContext;
  readonly #files: readonly string[];

  constructor(context: ReaderContext) {
    this.#context = context;
    this.#files = [context.file];
  }

  add(element: JSONElement): void {
    const { key, index, value } = element;
    notePage(this.#context, element);
    const isListed = key === "Roles" && index !== null;
    if (!isListed && key !== "Role") return;
    const { arn, object } = withARN(value, isListed ? `Roles[${index}]` : "Role");
    const { data } = this.#context;
    data.add({
      kind: "role", arn, files: this.#files, inline: [], attached: [], gaps: isListed ? EVERY_GAP : POLICY_GAPS,
      uniqueID: stringAt(object, "RoleId"), tags: isListed ? null : tagsOf(listAt(object, "Tags")),
      boundary: boundaryAt(object), trust: documentAt(data, object, "AssumeRolePolicyDocument"), isStored: true,
      maxSessionSeconds: numberAt(object, "MaxSessionDuration"),
    });
  }

  /** Each role is a whole. */
  finish(): void {}
}

/**
 * Reads a policy document, or the output of `aws iam get-policy-version`. Neither states what it belongs to: a document
 * with principals is the trust policy of a role, another one is a managed policy.
 */
class PolicyFile implements IAMReader {
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
