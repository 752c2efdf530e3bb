import { field, isJsonObject, type JsonObject, stringAt, stringMap } from "../formats/json.ts";
import type { Gap, HolderKind, IAMObject } from "./iam-objects.ts";
import { arnIn, type IAMReader, listAt, numberAt, type ReaderContext, tagsOf, textsAt } from "./iam-reader.ts";
import type { JSONElement } from "./json-elements.ts";

const KINDS: ReadonlyMap<string, HolderKind | "policy"> = new Map([
  ["Role", "role"], ["User", "user"], ["Group", "group"], ["Policy", "policy"],
]);
const GROUP = /^iam\.services\.k8s\.aws\//;
/** The controller does not manage the groups of a user. */
const USER_GAPS: readonly Gap[] = [{ part: "groups", cause: null }];

interface Manifest {
  readonly kind: HolderKind | "policy";
  readonly namespace: string;
  readonly object: JsonObject;
}

/** Reads Roles, Policies, Users and Groups of the IAM controller of ACK. Skips objects of other kinds. */
export class ACKManifests implements IAMReader {
  readonly #context: ReaderContext;
  readonly #files: readonly string[];
  /** The members of an object that is the whole file. */
  readonly #members = new Map<string, unknown>();
  readonly #manifests: Manifest[] = [];

  constructor(context: ReaderContext) {
    this.#context = context;
    this.#files = [context.file];
  }

  add({ key, index, value }: JSONElement): void {
    if (index !== null) {
      if (key === "items") this.#keep(value);
    } else if (this.#members.has(key)) throw new Error("several objects follow each other; pass them as a List");
    else this.#members.set(key, value);
  }

  finish(): void {
    this.#keep(Object.fromEntries(this.#members));
    if (this.#manifests.length === 0) throw new Error("no Role, Policy, User or Group of iam.services.k8s.aws exists");
    const policies = new Map(this.#manifests.filter(({ kind }) => kind === "policy").map((policy) => {
      const name = stringAt(policy.object, "metadata", "name");
      return [JSON.stringify([policy.namespace, name]), this.#arnOf(policy)];
    }));
    for (const manifest of this.#manifests) {
      const { kind, object } = manifest;
      const { data, file } = this.#context;
      const document = stringAt(object, "spec", "policyDocument");
      if (kind !== "policy") data.add(this.#objectOf({ ...manifest, kind }, policies));
      else if (document !== null) data.addPolicy(this.#arnOf(manifest), document, file);
    }
  }

  #keep(object: unknown): void {
    const kind = KINDS.get(stringAt(object, "kind") ?? "");
    if (!isJsonObject(object) || kind === undefined || !GROUP.test(stringAt(object, "apiVersion") ?? "")) return;
    this.#manifests.push({ kind, object, namespace: stringAt(object, "metadata", "namespace") ?? "default" });
  }

  /** The controller writes the ARN into the status. */
  #arnOf({ kind, object }: Manifest): string {
    const arn = stringAt(object, "status", "ackResourceMetadata", "arn");
    if (arn !== null) return arn;
    const name = stringAt(object, "spec", "name");
    if (name === null) throw new Error(`${kind} ${stringAt(object, "metadata", "name") ?? ""}: spec.name is missing`);
    return arnIn(this.#context.subject, kind, stringAt(object, "spec", "path") ?? "/", name);
  }

  #objectOf(
    manifest: Manifest & { readonly kind: HolderKind }, policies: ReadonlyMap<string, string>,
  ): IAMObject {
    const { kind, object, namespace } = manifest;
    const spec = field(object, "spec");
    const { data } = this.#context;
    const references = listAt(spec, "policyRefs").map((one) => referenceOf(one, namespace));
    const boundaryRef = field(spec, "permissionsBoundaryRef") ?? null;
    const boundaryName = boundaryRef === null ? null : referenceOf(boundaryRef, namespace);
    const missing = references.filter((one) => !policies.has(one));
    const gaps = missing.map((one): Gap => ({ part: "attached policies", cause: `Policy ${one}` }));
    const inline = [...stringMap(field(spec, "inlinePolicies"))];
    const holder = {
      arn: this.#arnOf(manifest), files: this.#files, gaps: kind === "user" ? [...USER_GAPS, ...gaps] : gaps,
      inline: inline.map(([name, text]) => ({ name, document: data.textOf(text) })),
      attached: [...textsAt(spec, "policies"), ...references.flatMap((one) => policies.get(one) ?? [])],
    };
    if (kind === "group") return { ...holder, kind };
    const principal = {
      ...holder, tags: tagsOf(listAt(spec, "tags"), "key", "value"),
      uniqueID: stringAt(object, "status", `${kind}ID`),
      boundary: boundaryName === null ? stringAt(spec, "permissionsBoundary")
        : policies.get(boundaryName) ?? `of the Policy ${boundaryName}`,
    };
    if (kind === "user") return { ...principal, kind, groups: [] };
    const trust = data.textOf(stringAt(spec, "assumeRolePolicyDocument"));
    const maxSessionSeconds = numberAt(spec, "maxSessionDuration") ?? 3600;
    return { ...principal, kind, trust, isStored: false, maxSessionSeconds };
  }
}

/** Returns the key of the Policy that a reference names: `{from: {name, namespace}}`. */
function referenceOf(reference: unknown, namespace: string): string {
  const name = stringAt(reference, "from", "name");
  return JSON.stringify([stringAt(reference, "from", "namespace") ?? namespace, name]);
}
