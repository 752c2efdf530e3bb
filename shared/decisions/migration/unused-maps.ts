import { ACCOUNT_MAP, TEAM_MAP } from "../annotation-keys.ts";
import { type MapLookup, serviceOf } from "../carm/maps.ts";
import { compareText, listOf, quote } from "../kubernetes/text.ts";
import type { CARMKey, MigrationInput } from "./carm-keys.ts";
import { CORRECT_ARN } from "./difference.ts";
import type { Inexpressible } from "./inexpressible.ts";
import { isRoleARN } from "./selectors.ts";

const MAPS: readonly (readonly [name: string, via: MapLookup["via"]])[] = [
  [ACCOUNT_MAP, "account-map"], [TEAM_MAP, "team-map"],
];

/**
 * Returns the map entries that no generated selector uses, and the maps in namespaces that the migration does not read.
 */
export function unusedMapEntries(input: MigrationInput, keys: readonly CARMKey[]): Inexpressible[] {
  const { inventory, settings: { ackSystemNamespace } } = input;
  return MAPS.flatMap(([name, via]) => {
    const data = inventory.configMap(ackSystemNamespace, name) ?? NO_DATA;
    const used = new Set(keys.filter((key) => key.via === via).map(({ key }) => key));
    const map = { subject: `ConfigMap ${ackSystemNamespace}/${name}`, data, used };
    return [...invalidValues(map), ...unusedKeys(map, input), ...otherCopies(name, data, input)];
  });
}

const NO_DATA: ReadonlyMap<string, string> = new Map();

interface CARMMap {
  readonly subject: string;
  readonly data: ReadonlyMap<string, string>;
  /** The keys that namespace annotations name. */
  readonly used: ReadonlySet<string>;
}

function invalidValues({ subject, data }: CARMMap): Inexpressible[] {
  const invalid = sorted(data).filter(([, value]) => value !== "" && !isRoleARN(value));
  return invalid.map(([key, value]) => ({
    subject: `${subject}, key ${quote(key)}`,
    reason: `${quote(value)} is not the ARN of an IAM role, so a selector cannot use the value`,
    fix: CORRECT_ARN,
  }));
}

/** Returns the keys that do not affect the role of any resource, grouped by cause. */
function unusedKeys(
  { subject, data, used }: CARMMap, { settings: { serviceLevelCARM }, groups }: MigrationInput,
): Inexpressible[] {
  const context = { used, services: new Set(groups.map(serviceOf)), serviceLevelCARM };
  const byCause = new Map<Cause, string[]>();
  for (const [key] of sorted(data)) {
    const cause = used.has(key) ? null : causeOf(splitKey(key), context);
    if (cause !== null) byCause.set(cause, [...(byCause.get(cause) ?? []), key]);
  }
  return [...byCause].map(([cause, keys]) => (
    { subject: `${subject}, ${keys.length === 1 ? "key" : "keys"} ${listOf(keys.map(quote))}`, ...CAUSES[cause] }
  ));
}

type Cause = "unused" | "gate" | "service";

interface KeyContext {
  readonly used: ReadonlySet<string>;
  readonly services: ReadonlySet<string>;
  readonly serviceLevelCARM: boolean;
}

function causeOf(
  { service, key }: { readonly service: string; readonly key: string },
  { used, services, serviceLevelCARM }: KeyContext,
): Cause | null {
  if (!used.has(key)) return "unused";
  if (!serviceLevelCARM) return "gate";
  return services.has(service) ? null : "service";
}

const CAUSES: Readonly<Record<Cause, Pick<Inexpressible, "reason" | "fix">>> = {
  unused: {
    reason: "no namespace annotation names the account or team, so a selector would select no resources",
    fix: "if a namespace needs this role, annotate the namespace and run the command again",
  },
  gate: {
    reason: "controllers without the feature gate ServiceLevelCARM do not read keys with a service prefix",
    fix: "if the controllers run with that gate, set --service-level-carm and run the command again",
  },
  service: {
    reason: "no ACK group of that service is installed or known to this release",
    fix: "add the API group of the service to --extra-groups and run the command again, or correct the key",
  },
};

/** Splits `s3.team-a` into service and key. */
function splitKey(text: string): { readonly service: string; readonly key: string } {
  const dot = text.indexOf(".");
  return dot < 0 ? { service: "", key: text } : { service: text.slice(0, dot), key: text.slice(dot + 1) };
}

/** Returns the maps of the same name in other namespaces. A controller reads only the map in its own namespace. */
function otherCopies(
  name: string, data: ReadonlyMap<string, string>, { inventory, settings: { ackSystemNamespace } }: MigrationInput,
): Inexpressible[] {
  const others = [...inventory.namespacesOfConfigMap(name)].filter((namespace) => namespace !== ackSystemNamespace);
  return others.toSorted(compareText).map((namespace) => {
    const differing = differingKeys(data, new Map(inventory.configMap(namespace, name)));
    const comparison = differing.length === 0
      ? "the two maps have the same data"
      : `the two maps differ in ${differing.length === 1 ? "key" : "keys"} ${listOf(differing.map(quote))}`;
    return {
      subject: `ConfigMap ${namespace}/${name}`,
      reason: `controllers in that namespace read this map, but selectors apply to every controller; ${comparison}`,
      fix: differing.length === 0
        ? "none"
        : `make the maps equal, or compare this output with the output for --ack-system-namespace ${namespace}`,
    };
  });
}

function differingKeys(a: ReadonlyMap<string, string>, b: ReadonlyMap<string, string>): string[] {
  return [...new Set([...a.keys(), ...b.keys()])].filter((key) => a.get(key) !== b.get(key)).toSorted(compareText);
}

function sorted(data: ReadonlyMap<string, string>): (readonly [key: string, value: string])[] {
  return [...data].toSorted(([a], [b]) => compareText(a, b));
}
