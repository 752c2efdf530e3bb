import { isJsonObject, stringAt } from "../formats/json.ts";
import { ACKManifests } from "./ack-manifests.ts";
import { AuthorizationDetails, LISTS } from "./authorization-details.ts";
import { GetRole } from "./get-role.ts";
import type { IAMReader, ReaderContext } from "./iam-reader.ts";
import type { JSONElement } from "./json-elements.ts";
import { ObjectPolicies } from "./object-policies.ts";
import { PolicyFile } from "./policy-file.ts";
import { TerraformJSON } from "./terraform-json.ts";

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
