import { OWNER_ACCOUNT_ANNOTATION } from "./annotation-keys.ts";
import { carmAnnotations, teamOf } from "../carm/carm-maps.ts";
import { objectExcess } from "./limits.ts";
import type { Runtime } from "./context.ts";
import { field, isJsonObject, type JsonObject, stringAt, stringMap } from "../formats/json.ts";
import type { Labels } from "../formats/label-selector.ts";
import { NAME_LABEL } from "../formats/names.ts";
import type { ObjectID } from "../formats/object-meta.ts";
import { NameIndex } from "../formats/nearest.ts";
import { labelKey, SetIndex } from "./set-index.ts";

/** The account and the team that the annotations of a namespace name for CARM; "" if they name none. */
interface CARMOwner {
  readonly account: string;
  readonly team: string;
}

interface Namespace {
  readonly owner: CARMOwner;
  readonly labels: Labels;
  readonly annotations: ReadonlyMap<string, string>;
  readonly isTerminating: boolean;
}

/** The keys of the labels of namespaces, and the values of each key. */
interface LabelNames {
  readonly keys: NameIndex;
  readonly values: ReadonlyMap<string, NameIndex>;
}

type NamespaceName = Pick<ObjectID, "name">;

interface NamespaceContext {
  readonly runtime: Runtime;
  readonly isForGrants?: boolean;
}

/** The Namespaces of an inventory, indexed by name, label, and account and team for CARM. */
export class NamespaceStore {
  readonly #context: NamespaceContext;
  readonly #onChange: (name: string) => void;
  /** The namespaces that were dropped because they exceed a limit. */
  readonly #oversized = new Set<string>();
  readonly #namespaces = new Map<string, Namespace>();
  readonly #byLabel = new SetIndex<string>();
  readonly #usingCARM = new Set<string>();
  readonly #byOwner = new SetIndex<string>();
  #index: NameIndex | null = null;
  #labels: LabelNames | null = null;

  /** `onChange` receives the name of each namespace after it was stored or removed. */
  constructor(context: NamespaceContext, onChange: (name: string) => void = () => undefined) {
    this.#context = context;
    this.#onChange = onChange;
  }

  get size(): number {
    return this.#namespaces.size;
  }

  put(object: JsonObject, { name }: NamespaceName): void {
    this.#delete(name);
    this.#add(object, name);
    this.#onChange(name);
  }

  remove({ name }: NamespaceName): void {
    this.#delete(name);
    this.#onChange(name);
  }

  #add(object: JsonObject, name: string): void {
    this.#index = this.#labels = null;
    if (this.#context.isForGrants === true && objectExcess(object) !== null) {
      this.#oversized.add(name);
      return;
    }
    const metadata = field(object, "metadata");
    const labelsOf = field(metadata, "labels");
    const labels = stringMap({ ...(isJsonObject(labelsOf) && labelsOf), [NAME_LABEL]: name });
    const annotations = stringMap(field(metadata, "annotations"));
    const isTerminating = (stringAt(object, "metadata", "deletionTimestamp") ?? "") !== ""
      || stringAt(object, "status", "phase") === "Terminating";
    const owner = this.#ownerIn(carmAnnotations(name, annotations));
    const stored = annotations.size === 0 ? NO_ANNOTATIONS : annotations;
    this.#namespaces.set(name, { owner, labels, annotations: stored, isTerminating });
    this.#indexLabels("add", name, labels);
    if (owner === NO_OWNER) return;
    this.#usingCARM.add(name);
    for (const key of ownerKeys(owner)) this.#byOwner.add(key, name);
  }

  #delete(name: string): void {
    this.#index = this.#labels = null;
    this.#oversized.delete(name);
    const namespace = this.#namespaces.get(name);
    if (namespace === undefined) return;
    this.#namespaces.delete(name);
    this.#indexLabels("delete", name, namespace.labels);
    this.#usingCARM.delete(name);
    for (const key of ownerKeys(namespace.owner)) this.#byOwner.delete(key, name);
  }

  /** Indexes the labels, except the name label, by which `withLabel` finds its only namespace without an index. */
  #indexLabels(method: "add" | "delete", name: string, labels: Labels): void {
    for (const [key, value] of labels) if (key !== NAME_LABEL) this.#byLabel[method](labelKey(key, value), name);
  }

  #ownerIn(annotations: ReadonlyMap<string, string>): CARMOwner {
    const account = annotations.get(OWNER_ACCOUNT_ANNOTATION) ?? "";
    const team = teamOf(annotations, this.#context);
    return account === "" && team === "" ? NO_OWNER : { account, team };
  }

  has(name: string): boolean {
    return this.#namespaces.has(name);
  }

  /**
   * Whether the namespace exists but was dropped, because it exceeds a limit. For such a namespace, `has` returns
   * false.
   */
  isOversized(name: string): boolean {
    return this.#oversized.has(name);
  }

  get names(): Iterable<string> {
    return this.#namespaces.keys();
  }

  /** Returns the namespaces that the name misspells. Indexes all names at the first call after a change. */
  misspelledBy(name: string): readonly string[] {
    this.#index ??= new NameIndex(this.names);
    return this.#index.misspelled(name);
  }

  /**
   * Returns the values that the value misspells, or the keys that the key misspells if no namespace has a label with
   * this key. Returns [] if a namespace has the label.
   */
  misspelledLabel(key: string, value: string): readonly string[] {
    this.#labels ??= this.#labelsOfAll();
    if (this.countWithLabel(key, value) > 0) return [];
    return this.#labels.values.get(key)?.misspelled(value) ?? this.#labels.keys.misspelled(key);
  }

  #labelsOfAll(): LabelNames {
    const values = new Map<string, Set<string>>();
    for (const { labels } of this.#namespaces.values()) {
      for (const [key, value] of labels) values.set(key, (values.get(key) ?? new Set()).add(value));
    }
    return {
      keys: new NameIndex(values.keys()),
      values: new Map(Array.from(values, ([key, names]) => [key, new NameIndex(names)])),
    };
  }

  /**
   * Returns the labels of a namespace. For an unknown namespace, returns only the name label, which the API server sets
   * on every namespace.
   */
  labelsOf(name: string): Labels {
    return this.#namespaces.get(name)?.labels ?? new Map([[NAME_LABEL, name]]);
  }

  annotationsOf(name: string): ReadonlyMap<string, string> {
    return this.#namespaces.get(name)?.annotations ?? NO_ANNOTATIONS;
  }

  /** Whether the namespace is being deleted. Kubernetes also deletes every object in such a namespace. */
  isTerminating(name: string): boolean {
    return this.#namespaces.get(name)?.isTerminating === true;
  }

  /** Returns the known namespaces that have the label. */
  withLabel(key: string, value: string): ReadonlySet<string> {
    if (key === NAME_LABEL) return new Set(this.has(value) ? [value] : []);
    return this.#byLabel.get(labelKey(key, value));
  }

  /** Returns the number of known namespaces that have the label. */
  countWithLabel(key: string, value: string): number {
    return key === NAME_LABEL ? Number(this.has(value)) : this.#byLabel.count(labelKey(key, value));
  }

  /** The namespaces whose annotations name an account or a team for CARM. */
  get usingCARM(): ReadonlySet<string> {
    return this.#usingCARM;
  }

  /** Whether the annotations of a namespace name the team for CARM. */
  hasTeam(team: string): boolean {
    return this.#byOwner.count(OWNER_KEYS.team + team) > 0;
  }

  /** Whether the annotations of a namespace name the account for CARM; with `withoutTeam`, and no team. */
  hasAccount(account: string, { withoutTeam }: { readonly withoutTeam: boolean }): boolean {
    const { account: alone, accountBesideTeam } = OWNER_KEYS;
    const keys = withoutTeam ? [alone] : [alone, accountBesideTeam];
    return keys.some((key) => this.#byOwner.count(key + account) > 0);
  }
}

/** The part of an index key before the account or the team, which can be any text. */
const OWNER_KEYS = { team: "team:", account: "account:", accountBesideTeam: "account-beside-team:" } as const;

function* ownerKeys({ account, team }: CARMOwner): Iterable<string> {
  if (team !== "") yield OWNER_KEYS.team + team;
  if (account !== "") yield (team === "" ? OWNER_KEYS.account : OWNER_KEYS.accountBesideTeam) + account;
}

const NO_OWNER: CARMOwner = { account: "", team: "" };
const NO_ANNOTATIONS: ReadonlyMap<string, string> = new Map();
