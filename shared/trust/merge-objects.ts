import { isSame } from "../formats/json.ts";
import { quote } from "../formats/text.ts";
import type { Tags } from "./assume-role-call.ts";
import type { Gap, GapPart, IAMGroup, IAMObject, IAMRole, IAMUser, InlinePolicy, ObjectPart } from "./iam-objects.ts";
import { isSamePolicy } from "./policy-comparison.ts";

/** Two files that say different things about one object, or one that does. The message names them. */
export class Contradiction extends Error {
  constructor(what: string, files: readonly string[], others: readonly string[]) {
    const isOne = new Set([...files, ...others]).size === 1;
    super(isOne ? `${what} is stated twice in ${files.join()}, and differs; remove one`
      : `${what} is different in ${files.join(", ")} and in ${others.join(", ")}; pass only files that agree`);
  }
}

/** Returns an object that two files describe. Throws a Contradiction if they differ in what both know. */
export function mergeObjects<T extends IAMObject>(a: T, b: T): T;
export function mergeObjects(a: IAMObject, b: IAMObject): IAMObject {
  const merge = new Merge(a, b);
  if (a.kind === "role" && b.kind === "role") return merge.role(a, b);
  return a.kind === "user" && b.kind === "user" ? merge.user(a, b) : { ...a, ...merge.policies() };
}

/** Adds to an object the policies and groups that other inputs state for its name. */
export function mergeParts<T extends IAMObject>(object: T, parts: readonly ObjectPart[]): T;
export function mergeParts(object: IAMObject, parts: readonly ObjectPart[]): IAMObject {
  const files = [...new Set(parts.map(({ file }) => file))];
  const all = {
    arn: object.arn, files, inline: parts.flatMap(({ inline }) => inline),
    attached: parts.flatMap(({ attached }) => attached),
    gaps: parts.map(({ gaps }) => gaps).reduce(mergeGaps),
  };
  const policies = new Merge(object, { ...all, kind: "group" }).policies();
  if (object.kind !== "user") return { ...object, ...policies };
  return { ...object, ...policies, groups: [...new Set([...object.groups, ...parts.flatMap(({ groups }) => groups)])] };
}

type Policies = Pick<IAMGroup, "files" | "inline" | "attached" | "gaps">;

/** The merging of two objects with the same ARN. */
class Merge {
  readonly #a: IAMObject;
  readonly #b: IAMObject;

  constructor(a: IAMObject, b: IAMObject) {
    this.#a = a;
    this.#b = b;
  }

  role(a: IAMRole, b: IAMRole): IAMRole {
    return {
      ...a, ...this.#principal(a, b),
      trust: this.#known("the trust policy", a.trust, b.trust, isSamePolicy),
      isStored: [a, b].some(({ trust, isStored }) => trust !== null && isStored),
      maxSessionSeconds: this.#known("MaxSessionDuration", a.maxSessionSeconds, b.maxSessionSeconds),
    };
  }

  user(a: IAMUser, b: IAMUser): IAMUser {
    return { ...a, ...this.#principal(a, b), groups: [...new Set([...a.groups, ...b.groups])] };
  }

  policies(): Policies {
    const [a, b] = [this.#a, this.#b];
    return {
      files: [...new Set([...a.files, ...b.files])], gaps: mergeGaps(a.gaps, b.gaps),
      attached: [...new Set([...a.attached, ...b.attached])], inline: this.#inline(),
    };
  }

  #principal<T extends IAMRole | IAMUser>(a: T, b: T): Policies & Pick<T, "uniqueID" | "tags" | "boundary"> {
    return {
      ...this.policies(), boundary: this.#boundary(a, b),
      uniqueID: this.#known("the unique ID", a.uniqueID, b.uniqueID),
      tags: this.#known("the tags", a.tags, b.tags, haveSameTags),
    };
  }

  /** Returns the one that is known. */
  #known<T>(what: string, a: T | null, b: T | null, isEqual: (a: T, b: T) => boolean = Object.is): T | null {
    if (a === null || b === null) return a ?? b;
    if (isEqual(a, b)) return a;
    throw this.#contradiction(what);
  }

  #boundary(a: IAMRole | IAMUser, b: IAMRole | IAMUser): string | null {
    if (hasGap(a, "permissions boundary")) return b.boundary;
    if (hasGap(b, "permissions boundary") || a.boundary === b.boundary) return a.boundary;
    throw this.#contradiction("the permissions boundary");
  }

  #inline(): InlinePolicy[] {
    const found = new Map<string, InlinePolicy>();
    for (const policy of [...this.#a.inline, ...this.#b.inline]) {
      const { name, document } = policy;
      const other = found.get(name)?.document ?? null;
      if (other === null) found.set(name, policy);
      else this.#known(`the inline policy ${quote(name)}`, other, document, isSamePolicy);
    }
    return [...found.values()];
  }

  #contradiction(what: string): Contradiction {
    return new Contradiction(`${what} of ${this.#a.arn}`, this.#a.files, this.#b.files);
  }
}

export function hasGap({ gaps }: Pick<IAMObject, "gaps">, part: GapPart): boolean {
  return gaps.some((gap) => gap.part === part);
}

/** Another input fills a gap without a cause. */
function mergeGaps(a: readonly Gap[], b: readonly Gap[]): readonly Gap[] {
  if (a.length === 0 && b.length === 0) return a;
  const lasting = new Map([...a, ...b].filter(({ cause }) => cause !== null).map((gap) => [JSON.stringify(gap), gap]));
  const filled = a.filter(({ part, cause }) => cause === null && b.some((gap) => gap.part === part));
  return [...filled, ...lasting.values()];
}

function haveSameTags(a: Tags, b: Tags): boolean {
  return isSame(Object.fromEntries(a), Object.fromEntries(b));
}
