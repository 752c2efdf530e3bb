import { test } from "tap";
import { SELECTORS } from "../../shared/ack/selectors.ts";
import { isResource } from "../../shared/core/ack-resource.ts";
import { decisionSettings, type DecisionSettings } from "../../shared/core/context.ts";
import type { Inventory } from "../../shared/core/inventory.ts";
import { type AuditFinding, auditObjects } from "../../shared/diagnosis/audit.ts";
import { diagnose } from "../../shared/diagnosis/diagnosis.ts";
import type { Located } from "../../shared/diagnosis/object-changes.ts";
import { RelatedObjects } from "../../shared/diagnosis/related.ts";
import { roleMapOf } from "../../shared/diagnosis/role-map/build-map.ts";
import type { RoleMap } from "../../shared/diagnosis/role-map/role-map.ts";
import { parseJSON, valueAt } from "../../shared/formats/json.ts";
import { drain } from "../../shared/formats/paced.ts";
import { objectReference } from "../../shared/formats/object-meta.ts";
import { runChecks } from "../../shared/judges.ts";
import { roleObjectOf } from "../../shared/kinds.ts";
import { readSettings } from "../../shared/server/read-settings.ts";
import { mapInput } from "../../cli/role-map/map-input.ts";
import { inventory as randomInventory } from "../corpus/generate/inventories.ts";
import { inventoryWith } from "../shared/objects.ts";
import { runCommand } from "./run-command.ts";

// `why`, `resolve`, `audit`, `lint` and the map tell the same about every resource and selector of random inventories.

const INVENTORIES = 60;
const NO_CONTROLLERS = { controllers: [], others: [], unread: null };

/** What two commands say about the same fact. */
type Statement = readonly [what: string, one: unknown, other: unknown];

interface Told {
  readonly outcome: string;
  readonly role: string | null;
  readonly selectors: readonly string[];
}

/** Returns what the map says about each resource that it names, by `NAMESPACE/KIND/NAME`. */
function toldByMap({ namespaces, kinds, reasons, roles, selectors, uses }: RoleMap): ReadonlyMap<string, Told> {
  return new Map(uses.flatMap(([namespace, kind, index, , names]) => names.map((name): [string, Told] => {
    const reason = reasons[index];
    return [`${namespaces[namespace]?.name}/${kinds[kind]}/${name}`, {
      outcome: reason?.outcome ?? "", role: roles[reason?.role ?? -1]?.arn ?? null,
      selectors: (reason?.selectors ?? []).map((one) => selectors[one]?.name ?? ""),
    }];
  })));
}

interface Commands {
  readonly inventory: Inventory;
  readonly settings: DecisionSettings;
  readonly related: RelatedObjects<Located>;
  readonly map: RoleMap;
  readonly told: ReadonlyMap<string, Told>;
}

const SECTIONS = { conflict: "conflicts", refused: "refused", default: "onDefault" } as const;

function* aboutResource(
  found: Located, findings: readonly AuditFinding[], { inventory, settings, related, told }: Commands,
): Iterable<Statement> {
  const query = roleObjectOf(found.object);
  if (query === null) return;
  const diagnosis = diagnose(query, found, { inventory, settings, origin: "cluster", related, isWhole: false });
  const { kind, group, namespace, name } = query;
  const mapped = told.get(`${namespace}/${kind}.${group}/${name}`);
  yield ["the map and why: outcome", mapped?.outcome, diagnosis.outcome];
  yield ["the map and why: role", mapped?.role, diagnosis.roleARN];
  if (diagnosis.outcome !== "refused") {
    yield ["the map and why: selectors", mapped?.selectors, diagnosis.selectors.map((one) => one.name)];
  }
  // The identities of CAPA have sections of their own. A check that is off reports nothing.
  if (isResource(query)) yield* aboutSections(diagnosis.outcome, findings, settings);
  const isDenied = findings.some(({ severity, waived }) => severity === "deny" && !waived);
  if (isDenied) yield ["audit and why: a denial has a cause", diagnosis.causes.length > 0, true];
}

function* aboutSections(
  outcome: string, findings: readonly AuditFinding[], { checkSeverities }: DecisionSettings,
): Iterable<Statement> {
  for (const [state, section] of Object.entries(SECTIONS)) {
    const isReported = findings.some((one) => one.section === section);
    if (isReported || checkSeverities.size === 0) yield ["audit and why", isReported, outcome === state];
  }
}

function* aboutSelector(
  { object }: Located, findings: readonly AuditFinding[], { inventory, settings, map }: Commands,
): Iterable<Statement> {
  const { kind, name } = objectReference(object);
  if (kind !== "IAMRoleSelector") return;
  const { malformed, faulty } = inventory.of(SELECTORS);
  const state = malformed.has(name) ? "malformed" : faulty.has(name) ? "faulty" : "resolved";
  yield ["the map: the state of a selector", map.selectors.find((one) => one.name === name)?.state, state];
  const input = { object, old: null, requester: null, origin: "cluster" as const, inventory };
  const denied = runChecks(input, settings).findings.filter(({ severity }) => severity === "deny");
  const audited = findings.filter(({ severity, section }) => (
    severity === "deny" && (section === "malformed" || section === "faulty")
  ));
  for (const { code } of audited) yield ["lint and audit", denied.some((one) => one.code === code), true];
}

function* statements(number: number): Iterable<Statement> {
  const { objects, environment } = randomInventory(number);
  const settings = decisionSettings(readSettings("webhook", { cluster: true, tlsDir: "unused" }, environment));
  const inventory = inventoryWith(objects, { runtime: settings.runtime });
  const located = objects.map((object) => ({ object, file: null, lineOf: () => null }));
  const audit = drain(auditObjects({ objects, inventory, origin: "cluster" }, settings));
  const input = { root: null, inventory, objects: located, audit, unjudged: [], impacts: null };
  const map = drain(roleMapOf(mapInput(input, settings)));
  const related = new RelatedObjects(located, NO_CONTROLLERS);
  const commands = { inventory, settings, related, map, told: toldByMap(map) };
  for (const [index, found] of located.entries()) {
    const findings = audit.findings.filter((one) => one.index === index);
    const told = [...aboutResource(found, findings, commands), ...aboutSelector(found, findings, commands)];
    for (const [what, ...both] of told) {
      yield [`${number} ${JSON.stringify(objectReference(found.object))}: ${what}`, ...both];
    }
  }
}

test("every command tells the same about each resource and selector", (t) => {
  const all = Array.from({ length: INVENTORIES }, (_, number) => [...statements(number)]).flat();
  t.same(all.filter(([, one, other]) => JSON.stringify(one) !== JSON.stringify(other)), []);
  t.ok(all.length > 5000, `${all.length} statements were compared`);
  t.end();
});

test("audit, lint and resolve count the same objects of the examples", async (t) => {
  const json = async (...argv: readonly string[]): Promise<unknown> => (
    parseJSON((await runCommand([...argv, "-o", "json"])).stdout)
  );
  const audited = valueAt(await json("audit", "--from", "manifests/examples"), ["summary"]);
  const resolved = await json("resolve", "manifests/examples");
  const linted = valueAt(await json("lint", "manifests/examples"), ["findings"]);
  const count = (list: unknown, key: string, value: string): number => (
    Array.isArray(list) ? list.filter((one) => valueAt(one, [key]) === value).length : -1
  );
  t.match(audited, {
    conflicts: count(resolved, "outcome", "conflict"), refused: count(resolved, "outcome", "refused"),
    onDefault: count(resolved, "outcome", "default"), malformed: count(linted, "code", "IRS-02"),
  });
});
