// Implements IAMRoleSelectors a second time, in a simple way. Tests compare the indexed implementation with this model.
// The model deliberately shares no code and no type with shared/.

export interface ModelLabelSelector {
  readonly matchLabels?: Readonly<Record<string, unknown>>;
  readonly matchExpressions?: readonly ModelExpression[];
}

interface ModelExpression {
  readonly key: string;
  readonly operator: string;
  readonly values?: readonly string[];
}

export interface ModelEntry {
  readonly group?: string;
  readonly version?: string;
  readonly kind?: string;
  readonly apiVersion?: string;
}

export interface ModelSelector {
  readonly name: string;
  readonly spec: {
    readonly arn?: unknown;
    readonly namespaceSelector?: {
      readonly names?: readonly string[] | string;
      readonly labelSelector?: ModelLabelSelector;
    };
    readonly resourceTypeSelector?: readonly ModelEntry[];
    readonly resourceLabelSelector?: ModelLabelSelector;
    readonly unknownField?: boolean;
  };
}

export interface ModelResource {
  readonly namespace: string;
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly labels: Readonly<Record<string, string>>;
}

export interface ModelContext {
  readonly runtime: "ack" | "extended";
  readonly origin: "file" | "cluster";
}

export interface ModelWorld extends ModelContext {
  readonly selectors: readonly ModelSelector[];
  /** Labels by namespace. */
  readonly namespaces: ReadonlyMap<string, Readonly<Record<string, string>>>;
  /** Maps each `KIND.GROUP` to its storage version. */
  readonly storage: ReadonlyMap<string, string>;
}

/** Returns the names of the selectors that select the resource, sorted. */
function modelSelecting(world: ModelWorld, resource: ModelResource): string[] {
  const selecting = world.selectors.filter(
    (selector) => !modelMalformed(selector, world) && selects(selector, resource, world),
  );
  return selecting.map(({ name }) => name).toSorted();
}

/** The values of the annotation `use-selector`; undefined if an object does not have the annotation. */
export interface ModelChoices {
  readonly ofResource: string | undefined;
  readonly ofNamespace: string | undefined;
}

/** Returns the outcome and the selectors of the resource, such as `conflict a,b`. */
export function modelOutcome(world: ModelWorld, resource: ModelResource, choices: ModelChoices): string {
  const selecting = modelSelecting(world, resource);
  const chosen = choices.ofResource ?? choices.ofNamespace;
  if (world.runtime === "extended" && chosen !== undefined) {
    return selecting.includes(chosen) ? `selected ${chosen}` : "refused ";
  }
  if (selecting.length === 0) return "default ";
  return `${selecting.length === 1 ? "selected" : "conflict"} ${selecting.join()}`;
}

function selects({ spec }: ModelSelector, resource: ModelResource, world: ModelWorld): boolean {
  return (
    selectsNamespace(spec, resource.namespace, world) &&
    matchesType(spec, resource, world) &&
    matchesLabels(spec.resourceLabelSelector, resource.labels, world)
  );
}

function selectsNamespace(
  { namespaceSelector: { names = [], labelSelector } = {} }: ModelSelector["spec"],
  namespace: string,
  world: ModelWorld,
): boolean {
  const labels = { ...world.namespaces.get(namespace), "kubernetes.io/metadata.name": namespace };
  return (names.length === 0 || names.includes(namespace)) && matchesLabels(labelSelector, labels, world);
}

function matchesType(spec: ModelSelector["spec"], resource: ModelResource, world: ModelWorld): boolean {
  const version = world.storage.get(`${resource.kind}.${resource.group}`) ?? resource.version;
  const entries = spec.resourceTypeSelector ?? [];
  return entries.length === 0 || entries.some((entry) => matchesEntry(plain(entry), { ...resource, version }));
}

function matchesEntry(entry: ModelEntry, resource: ModelResource): boolean {
  for (const part of ["group", "version", "kind"] as const) {
    const required = entry[part] ?? "";
    if (required !== "" && required !== resource[part]) return false;
  }
  return true;
}

/** Expands `{apiVersion: g/v}`. */
function plain(entry: ModelEntry): ModelEntry {
  if (entry.apiVersion === undefined) return entry;
  const [group = "", version = ""] = entry.apiVersion.split("/");
  return { group, version, kind: entry.kind ?? "" };
}

function matchesLabels(
  selector: ModelLabelSelector | undefined,
  labels: Readonly<Record<string, string>>,
  { runtime }: ModelContext,
): boolean {
  const actual = new Map(Object.entries(labels));
  for (const [key, value] of Object.entries(selector?.matchLabels ?? {})) if (actual.get(key) !== value) return false;
  return (
    runtime === "ack" || (selector?.matchExpressions ?? []).every((expression) => matchesExpression(expression, actual))
  );
}

function matchesExpression(
  { key, operator, values = [] }: ModelExpression,
  actual: ReadonlyMap<string, string>,
): boolean {
  const value = actual.get(key);
  const among = value !== undefined && values.includes(value);
  if (operator === "In") return among;
  if (operator === "NotIn") return !among;
  return operator === "Exists" ? actual.has(key) : !actual.has(key);
}

/** Returns whether the selector is malformed. */
export function modelMalformed(selector: ModelSelector, context: ModelContext): boolean {
  return droppedByControllers(selector, context) || (context.runtime === "extended" && faultyBeyondThat(selector));
}

function droppedByControllers({ spec }: ModelSelector, context: ModelContext): boolean {
  const { namespaceSelector = {}, resourceLabelSelector = {}, resourceTypeSelector = [] } = spec;
  const { names = [], labelSelector = {} } = namespaceSelector;
  const isUnreadable =
    isUnreadableNames(names) || isUnreadableLabels(labelSelector) || isUnreadableLabels(resourceLabelSelector);
  return isUnreadable || !isARN(spec.arn) || areFaultyEntries(resourceTypeSelector, context);
}

function isUnreadableNames(names: readonly string[] | string): boolean {
  return typeof names === "string" || names.includes("") || isRepeating(names);
}

function isUnreadableLabels({ matchLabels = {} }: ModelLabelSelector): boolean {
  return Object.entries(matchLabels).some(([key, value]) => key === "" || typeof value !== "string");
}

/** Like controllers, accepts any text with the prefix `arn:` and six parts as an ARN. */
function isARN(text: unknown): boolean {
  return typeof text === "string" && text.startsWith("arn:") && text.split(":").length >= 6;
}

function areFaultyEntries(resourceTypeSelector: readonly ModelEntry[], context: ModelContext): boolean {
  if (resourceTypeSelector.some((entry) => isUnreadableEntry(entry, context))) return true;
  const entries = resourceTypeSelector
    .map(plain)
    .map(({ group = "", version = "", kind = "" }) => [group, version, kind].join(" "));
  return entries.includes("  ") || isRepeating(entries);
}

function isRepeating(texts: readonly string[]): boolean {
  return texts.some((text, i) => texts.indexOf(text) < i);
}

/**
 * Returns whether the `apiVersion` of an entry is a fault: a malformed value, a value next to a group or version, or a
 * value that shipped controllers do not read.
 */
function isUnreadableEntry(
  { apiVersion, group = "", version = "" }: ModelEntry,
  { runtime, origin }: ModelContext,
): boolean {
  if (apiVersion === undefined) return false;
  const parts = apiVersion.split("/");
  return (
    parts.length !== 2 ||
    parts.includes("") ||
    group !== "" ||
    version !== "" ||
    (origin === "cluster" && runtime === "ack")
  );
}

function faultyBeyondThat({ spec }: ModelSelector): boolean {
  if (!isRoleARN(String(spec.arn)) || spec.unknownField !== undefined) return true;
  const names = spec.namespaceSelector?.names ?? [];
  if (typeof names !== "string" && names.some((name) => name.length > 63 || !isDNSText(name))) return true;
  return [spec.namespaceSelector?.labelSelector, spec.resourceLabelSelector].some(
    (labels) => labels !== undefined && isFaultyLabels(labels),
  );
}

function isRoleARN(arn: string): boolean {
  return /^arn:aws(-[^:]+)?:iam::\d{12}:role\/([!-~]{1,510}\/)?[\w+=,.@-]{1,64}$/.test(arn);
}

function isFaultyLabels({ matchLabels = {}, matchExpressions = [] }: ModelLabelSelector): boolean {
  if (Object.entries(matchLabels).some(([key, value]) => !isLabelKey(key) || !isLabelValue(String(value)))) return true;
  return matchExpressions.some(({ key, operator, values = [] }) => {
    if (!isLabelKey(key) || values.some((value) => !isLabelValue(value))) return true;
    if (operator === "In" || operator === "NotIn") return values.length === 0;
    return (operator !== "Exists" && operator !== "DoesNotExist") || values.length > 0;
  });
}

const LOWER_AND_DIGITS = "abcdefghijklmnopqrstuvwxyz0123456789";
const ALL_AND_DIGITS = `ABCDEFGHIJKLMNOPQRSTUVWXYZ${LOWER_AND_DIGITS}`;

function isMadeOf(text: string, ends: string, between: string): boolean {
  const characters = text.split("");
  return characters.every((character) => ends.includes(character) || between.includes(character))
    && ends.includes(text.charAt(0)) && ends.includes(text.charAt(text.length - 1));
}

function isLabelValue(text: string): boolean {
  return text === "" || (text.length <= 63 && isMadeOf(text, ALL_AND_DIGITS, "-_."));
}

function isLabelKey(text: string): boolean {
  const [name = "", prefix, extra] = text.split("/").toReversed();
  if (extra !== undefined || name === "" || !isLabelValue(name)) return false;
  return prefix === undefined || (prefix.length <= 253 && prefix.split(".").every(isDNSText));
}

function isDNSText(text: string): boolean {
  return text !== "" && isMadeOf(text, LOWER_AND_DIGITS, "-");
}
