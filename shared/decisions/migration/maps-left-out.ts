import { ACCOUNT_MAP, TEAM_MAP } from "../annotation-keys.ts";
import { type MapAnswer, serviceOf } from "../carm/maps.ts";
import { compareText, listOf, quote } from "../kubernetes/text.ts";
import type { CARMKey, MigrationInput } from "./carm-keys.ts";
import { isRoleARN } from "./selectors.ts";

/** Something of CARM that selectors do not carry over, or that the proof does not cover. */
export interface Inexpressible {
  readonly subject: string;
  /** As a sentence without its full stop. */
  readonly reason: string;
  readonly fix: string;
}

const MAPS: readonly (readonly [name: string, via: MapAnswer["via"]])[] = [[ACCOUNT_MAP, "account-map"], [TEAM_MAP, "team-map"]];

/** What the maps hold that no generated selector carries, and maps that were not looked at. */
export function mapsLeftOut(input: MigrationInput, keys: readonly CARMKey[]): Inexpressible[] {
  return MAPS.flatMap(([name, via]) => {
    const data = input.inventory.configMap(input.settings.ackSystemNamespace, name) ?? NOTHING;
    const used = new Set(keys.filter((key) => key.via === via).map(({ key }) => key));
    const map = { where: `ConfigMap ${input.settings.ackSystemNamespace}/${name}`, data, used };
    return [...noRoles(map), ...keysLeftOut(map, input), ...otherCopies(name, data, input)];
  });
}

const NOTHING: ReadonlyMap<string, string> = new Map();

interface MapInUse {
  readonly where: string;
  readonly data: ReadonlyMap<string, string>;
  /** The keys that namespaces name. */
  readonly used: ReadonlySet<string>;
}

function noRoles({ where, data }: MapInUse): Inexpressible[] {
  const faulty = sorted(data).filter(([, value]) => value !== "" && !isRoleARN(value));
  return faulty.map(([key, value]) => ({
    subject: `${where}, key ${quote(key)}`,
    reason: `${quote(value)} is not the ARN of an IAM role, so no selector may name it`,
    fix: "write the role's ARN into the map as IAM shows it, arn:aws:iam::ACCOUNT:role/NAME, and run this again",
  }));
}

/** Keys that decide nothing here, each kind of them with its reason. */
function keysLeftOut({ where, data, used }: MapInUse, { settings: { serviceLevelCARM }, groups }: MigrationInput): Inexpressible[] {
  const services = new Set(groups.map(serviceOf));
  const left = new Map<Left, string[]>();
  for (const [key] of sorted(data)) {
    const why = used.has(key) ? null : whyLeft(splitKey(key), { used, services, serviceLevelCARM });
    if (why !== null) left.set(why, [...(left.get(why) ?? []), key]);
  }
  return [...left].map(([why, keys]) => ({ subject: `${where}, ${keys.length === 1 ? "key" : "keys"} ${listOf(keys.map(quote))}`, ...LEFT[why] }));
}

type Left = "unused" | "gate" | "service";

function whyLeft({ service, key }: { readonly service: string; readonly key: string }, known: { readonly used: ReadonlySet<string>; readonly services: ReadonlySet<string>; readonly serviceLevelCARM: boolean }): Left | null {
  if (!known.used.has(key)) return "unused";
  if (!known.serviceLevelCARM) return "gate";
  return known.services.has(service) ? null : "service";
}

const LEFT: Readonly<Record<Left, Pick<Inexpressible, "reason" | "fix">>> = {
  unused: { reason: "no namespace names it, so there is nothing for a selector to select", fix: "nothing, unless a namespace is to name it: annotate that first and run this again" },
  gate: { reason: "without the feature gate ServiceLevelCARM controllers do not read the keys of a service", fix: "where the controllers run with that gate, give --service-level-carm and run this again" },
  service: { reason: "no ACK group of that service is installed or known to this release", fix: "name its group with --extra-groups and run this again, or mend the key" },
};

/** `s3.team-a` is the key of the service s3 under team-a. */
function splitKey(text: string): { readonly service: string; readonly key: string } {
  const dot = text.indexOf(".");
  return dot < 0 ? { service: "", key: text } : { service: text.slice(0, dot), key: text.slice(dot + 1) };
}

/** A controller reads the map of its own namespace alone, so that each release may have another. */
function otherCopies(name: string, data: ReadonlyMap<string, string>, { inventory, settings: { ackSystemNamespace } }: MigrationInput): Inexpressible[] {
  const others = [...inventory.namespacesOfConfigMap(name)].filter((namespace) => namespace !== ackSystemNamespace).toSorted(compareText);
  return others.map((namespace) => {
    const differing = differingKeys(data, new Map(inventory.configMap(namespace, name)));
    return {
      subject: `ConfigMap ${namespace}/${name}`,
      reason: `controllers in that namespace read this map, and selectors hold for every controller; it ${differing.length === 0 ? "says the same" : `differs under ${listOf(differing.map(quote))}`}`,
      fix: differing.length === 0 ? "nothing" : `make the maps the same, or compare with what this prints with --ack-system-namespace ${namespace}`,
    };
  });
}

function differingKeys(a: ReadonlyMap<string, string>, b: ReadonlyMap<string, string>): string[] {
  return [...new Set([...a.keys(), ...b.keys()])].filter((key) => a.get(key) !== b.get(key)).toSorted(compareText);
}

function sorted(data: ReadonlyMap<string, string>): (readonly [key: string, value: string])[] {
  return [...data].toSorted(([a], [b]) => compareText(a, b));
}
