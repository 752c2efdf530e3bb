import { stringAt } from "../formats/json.ts";
import { EVERY_GAP, type HolderKind, type InlinePolicy, nameOf, objectOf, type Subject } from "./iam-objects.ts";
import { documentAt, type IAMReader, isPage, kindOfARN, type ReaderContext } from "./iam-reader.ts";
import type { JSONElement } from "./json-elements.ts";

const NAMES: ReadonlyMap<string, HolderKind> = new Map([
  ["RoleName", "role"], ["UserName", "user"], ["GroupName", "group"],
]);

/** A role, user or group whose policies a file has: by its ARN, or by its name. */
type Owner = { readonly kind: HolderKind; readonly arn: string } | { readonly kind: HolderKind; readonly name: string };

/**
 * Reads the output of `aws iam get-role-policy` any number of times in a row, `list-role-policies` or
 * `list-attached-role-policies`, and those of users and groups. The lists do not state whose policies they list.
 */
export class ObjectPolicies implements IAMReader {
  readonly #context: ReaderContext;
  readonly #found = new Map<string, { readonly owner: Owner; readonly inline: InlinePolicy[] }>();
  readonly #attached: string[] = [];
  readonly #listed = new Set<string>();
  #isPage = false;
  /** The members of the current output of `get-role-policy`. */
  #members = new Map<string, unknown>();

  constructor(context: ReaderContext) {
    this.#context = context;
  }

  add(element: JSONElement): void {
    const { key, index, value } = element;
    if (isPage(element)) this.#isPage = true;
    else if (key === "AttachedPolicies" || key === "PolicyNames") this.#addListed(key, index, value);
    else if (key === "PolicyName" || key === "PolicyDocument" || NAMES.has(key)) this.#addMember(key, value);
  }

  finish(): void {
    if (this.#members.size > 0) throw new Error("PolicyName, PolicyDocument or the name of the role is missing");
    const gaps = EVERY_GAP.filter(({ part }) => this.#isPage || !this.#listed.has(part));
    const { data, file, subject } = this.#context;
    for (const { owner, inline } of this.#found.values()) {
      const part = { inline, attached: this.#attached, gaps };
      if ("arn" in owner) data.add({ ...objectOf(owner.kind, owner.arn, file), ...part });
      else data.addPart({ ...owner, ...part, account: subject, file, groups: [] });
    }
  }

  #addListed(key: string, index: number | null, value: unknown): void {
    this.#listed.add(key === "PolicyNames" ? "inline policies" : "attached policies");
    const { inline } = this.#open(ownerOf(this.#context.subject, key));
    if (index === null) return;
    if (key === "AttachedPolicies") this.#attached.push(stringAt(value, "PolicyArn") ?? "without an ARN");
    else inline.push({ name: String(value), document: null });
  }

  #addMember(key: string, value: unknown): void {
    this.#members.set(key, value);
    const members: object = Object.fromEntries(this.#members);
    const name = stringAt(members, "PolicyName");
    const document = documentAt(this.#context.data, members, "PolicyDocument");
    const found = [...NAMES].find(([one]) => this.#members.has(one));
    if (name === null || document === null || found === undefined) return;
    const [nameKey, kind] = found;
    const { subject } = this.#context;
    const stated = subject?.arn ?? null;
    const holder = stringAt(members, nameKey);
    if (holder === null) throw new Error(`${nameKey} is not a text`);
    const owner = stated === null ? { kind, name: holder } : ownerOf(subject, nameKey);
    if (stated !== null && nameOf(stated) !== holder) {
      throw new Error(`${nameKey} is not ${nameOf(stated)}, which ${stated} states`);
    }
    this.#open(owner).inline.push({ name, document });
    this.#members = new Map();
  }

  #open(owner: Owner): { readonly inline: InlinePolicy[] } {
    const key = JSON.stringify(owner);
    const found = this.#found.get(key);
    if (found !== undefined) return found;
    const created = { owner, inline: [] };
    this.#found.set(key, created);
    return created;
  }
}

const OWNER_FIX = "pass the ARN: --iam arn:aws:iam::ACCOUNT:role/NAME=FILE";

function ownerOf(subject: Subject | null, key: string): Owner {
  const arn = subject?.arn ?? null;
  const kind = kindOfARN(arn ?? "");
  if (arn !== null && kind !== null && kind !== "policy") return { kind, arn };
  throw new Error(`${key} does not state whose policies these are; ${OWNER_FIX}`);
}
