import type { SidecarSession } from "../core/session.ts";
import { isACKGroup, SELECTOR_GROUP, serviceOfImage } from "../core/ack-groups.ts";
import { objectExcess } from "../core/limits.ts";
import type { JsonObject } from "../formats/json.ts";
import { objectReference } from "../formats/object-meta.ts";
import { compareText, listOf, quote } from "../formats/text.ts";
import {
  type BaseCredentials, baseCredentials, serviceAccountOf, type ServiceIdentities, serviceIdentities,
} from "./base-credentials.ts";
import { type Arguments, argumentsOf, environmentOf, hasArgumentsOfACK } from "./controller-arguments.ts";
import { type Container, decodePod, type Pod, podTemplateOf } from "../core/pod.ts";
import { sidecarSessionOf } from "./sidecar-session.ts";

/** The feature gates that decide where a controller finds roles. */
export const GATES = ["IAMRoleSelector", "TeamLevelCARM", "ServiceLevelCARM"] as const;
export type Gate = (typeof GATES)[number];
export type Gates = Readonly<Record<Gate, boolean>>;

/** A setting of a controller as its Deployment shows it. If the value is unknown, `unknown` states why. */
export type Reading<Value> =
  | { readonly value: Value; readonly unknown: null }
  | { readonly value: null; readonly unknown: string };

/** A Deployment that runs an ACK controller. */
export interface ControllerDeployment {
  /** `NAMESPACE/NAME`. */
  readonly name: string;
  readonly gates: Reading<Gates>;
  readonly enableCARM: Reading<boolean>;
  /** The namespaces of --watch-namespace; [] if the controller watches all namespaces. */
  readonly watchNamespaces: Reading<readonly string[]>;
  /** The label selector of --watch-selectors; "" if the controller watches all resources. */
  readonly watchSelectors: Reading<string>;
  readonly region: Reading<string>;
  /** `NAMESPACE/NAME` of its service account. */
  readonly serviceAccount: string;
  /** The credentials of the controller's own role. */
  readonly credentials: BaseCredentials;
  /** The sidecar's session settings; null without a sidecar, or a text that says why they are unknown. */
  readonly sidecar: SidecarSession | null | string;
  /** The API group of the resources that it manages, as its image shows it; null if it is another image. */
  readonly group: string | null;
}

/** The controllers among some objects. */
export interface Controllers {
  /** The controllers in the system namespace, sorted by name. */
  readonly controllers: readonly ControllerDeployment[];
  /** The sorted names of Deployments elsewhere that look like a controller. Tenants may have created them. */
  readonly others: readonly string[];
  /** Why the Deployments of a cluster could not be read; null if they were read. */
  readonly unread: string | null;
}

/** Returns the controllers among the objects, of which only those in the system namespace count. */
export function readControllers(objects: readonly JsonObject[], systemNamespace: string): Controllers {
  const found = objects.flatMap(runningControllers).toSorted((a, b) => compareText(a.name, b.name));
  const own = found.filter(({ namespace }) => namespace === systemNamespace);
  const others = found.filter(({ namespace }) => namespace !== systemNamespace);
  const identities = serviceIdentities(own.length === 0 ? [] : objects);
  return {
    controllers: own.map((one) => readController(one, identities)),
    others: others.map(({ name }) => name), unread: null,
  };
}

/**
 * Returns the controllers that manage the resources of a group: those whose image is of its service, or else those
 * whose image does not show the service. No ACK controller manages the resources of another group.
 */
export function controllersOfGroup({ controllers, ...others }: Controllers, group: string): Controllers {
  if (!isACKGroup(group)) return { controllers: [], others: [], unread: null };
  const ofGroup = controllers.filter((one) => one.group === group);
  return { ...others, controllers: ofGroup.length > 0 ? ofGroup : controllers.filter((one) => one.group === null) };
}

/** Whether the object is a Deployment that looks like that of an ACK controller. */
export function looksLikeController(object: JsonObject): boolean {
  return runningControllers(object).length > 0;
}

/** A container that runs an ACK controller. */
interface RunningController {
  readonly namespace: string;
  /** `NAMESPACE/NAME` of the Deployment. */
  readonly name: string;
  readonly pod: Pod;
  readonly container: Container;
  /** Why the Deployment is not read; null if it is read. */
  readonly unread: string | null;
}

/** Returns the containers of a Deployment that run an ACK controller, by their image or their arguments. */
function runningControllers(object: JsonObject): readonly RunningController[] {
  const { group, kind, namespace, name } = objectReference(object);
  const template = group === "apps" && kind === "Deployment" ? podTemplateOf(object) : null;
  if (template === null) return [];
  const pod = decodePod(template.pod);
  const containers = pod.containers.filter((one) => serviceOfImage(one.image) !== null || hasArgumentsOfACK(one));
  // Variables could multiply the size of many arguments, and each container is compared with the others.
  const unread = containers.length === 0 ? null : objectExcess(object)?.message ?? null;
  return containers.slice(0, unread === null ? Infinity : 1)
    .map((container) => ({ namespace, name: `${namespace}/${name}`, pod, container, unread }));
}

function readController(
  { namespace, name, pod, container, unread }: RunningController, identities: ServiceIdentities,
): ControllerDeployment {
  const account = serviceAccountOf(pod, namespace);
  if (unread !== null) return unreadController(name, account, unread);
  const flags = argumentsOf(container);
  return {
    name, serviceAccount: account, group: groupOfImage(container), sidecar: sidecarSessionOf(pod),
    region: regionOf(flags, container),
    credentials: baseCredentials(pod, container, { account, identities }),
    watchSelectors: readFlag(flags, "watch-selectors", { missing: "", parse: (text) => text }),
    // The defaults of the gates and of CARM: aws-controllers-k8s/runtime v0.62.0, pkg/featuregate and pkg/config.
    gates: readFlag(flags, "feature-gates", { missing: NO_GATES, parse: parseGates }),
    enableCARM: readFlag(flags, "enable-carm", { missing: true, parse: parseBoolean }),
    watchNamespaces: readFlag(flags, "watch-namespace", { missing: [], parse: parseNamespaces }),
  };
}

function unreadController(name: string, serviceAccount: string, unknown: string): ControllerDeployment {
  const reading = { value: null, unknown };
  return {
    name, serviceAccount, group: null, sidecar: unknown, region: reading, gates: reading, enableCARM: reading,
    credentials: { used: "unknown", roleARN: null, ignored: [] }, watchSelectors: reading, watchNamespaces: reading,
  };
}

function groupOfImage({ image }: Container): string | null {
  const service = serviceOfImage(image);
  return service === null ? null : `${service}.${SELECTOR_GROUP}`;
}

interface FlagType<Value> {
  /** The value if the flag is missing. */
  readonly missing: Value;
  /** Returns null if the controller rejects the text. */
  readonly parse: (text: string) => Value | null;
}

function readFlag<Value>(flags: Arguments | null, name: string, { missing, parse }: FlagType<Value>): Reading<Value> {
  if (flags === null) return { value: null, unknown: "the command or an argument of its container is unknown" };
  const text = flags.get(name);
  if (text === undefined) return { value: missing, unknown: null };
  if (text === null) return { value: null, unknown: `the value of --${name} is not in the Deployment` };
  const value = parse(text);
  if (value !== null) return { value, unknown: null };
  return { value: null, unknown: `--${name} is ${quote(text)}, with which the controller exits at its start` };
}

/** Returns the region of the flag, or else of the variable with which the runtime starts. */
function regionOf(flags: Arguments | null, container: Container): Reading<string> {
  const variable = environmentOf(container).get("AWS_REGION");
  const all = flags?.has("aws-region") === false && variable !== undefined
    ? new Map([["aws-region", variable]])
    : flags;
  const region = readFlag(all, "aws-region", { missing: "", parse: (text) => (text === "" ? null : text) });
  return region.value === "" ? { value: null, unknown: "it has no region, so it exits at its start" } : region;
}

const NO_GATES: Gates = { IAMRoleSelector: false, TeamLevelCARM: false, ServiceLevelCARM: false };

/** Parses `A=true,B=false` as the runtime does: the last value of a gate counts. */
function parseGates(text: string): Gates | null {
  const listed = new Map<string, boolean>();
  for (const entry of text.trim() === "" ? [] : text.split(",")) {
    const at = entry.indexOf("=");
    const value = parseBoolean(entry.slice(at + 1).trim());
    if (at < 0 || value === null) return null;
    listed.set(entry.slice(0, at).trim(), value);
  }
  const isOn = (gate: Gate): boolean => listed.get(gate) === true;
  return {
    IAMRoleSelector: isOn("IAMRoleSelector"), TeamLevelCARM: isOn("TeamLevelCARM"),
    ServiceLevelCARM: isOn("ServiceLevelCARM"),
  };
}

/** The texts that Go's strconv.ParseBool accepts. */
const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ...["1", "t", "T", "true", "TRUE", "True"].map((text) => [text, true] as const),
  ...["0", "f", "F", "false", "FALSE", "False"].map((text) => [text, false] as const),
]);

function parseBoolean(text: string): boolean | null {
  return BOOLEANS.get(text) ?? null;
}

function parseNamespaces(text: string): readonly string[] | null {
  const names = text === "" ? [] : text.split(",");
  return names.includes("") ? null : names;
}

/**
 * Where a controller finds the roles of resources: `own` stands for its own role for every resource, and with `exits`,
 * it exits at its start.
 */
export type RoleSource = "selectors" | "carm" | "own" | "exits";

/** Returns where a controller finds roles, or null if that is unknown. */
export function roleSourceOf({ gates, enableCARM, watchNamespaces }: ControllerDeployment): RoleSource | null {
  if (gates.value === null || enableCARM.value === null || watchNamespaces.value === null) return null;
  if (gates.value.IAMRoleSelector) return enableCARM.value ? "exits" : "selectors";
  // With one watched namespace, the runtime does not start CARM (pkg/runtime/service_controller.go).
  return enableCARM.value && watchNamespaces.value.length !== 1 ? "carm" : "own";
}

/** Returns names of Deployments, such as `Deployments ack-system/a and ack-system/b`. */
export function deploymentsText(names: readonly string[]): string {
  return `${names.length === 1 ? "Deployment" : "Deployments"} ${listOf(names)}`;
}
