import type { MapSelector, Reason } from "../shared/diagnosis/role-map/role-map.ts";
import { causeItems } from "./causes.ts";
import { button, h, longText, nameText } from "./dom.ts";
import { shape } from "./shapes.ts";
import {
  byNamespace, ignoredIn, type ReasonGroup, type RoleUsers, selectionText, usersOfRole, usersOfSelector, usersText,
} from "./view/details.ts";
import { type KnownUse, markOf, type Model } from "./view/model.ts";
import { resourcesIn, statesOf } from "./view/rows.ts";
import { counted, shortKind, STATE_WORDS } from "./view/words.ts";

/** Opens another address in the panel. */
export type Open = (address: readonly string[]) => void;

/** What the panel shows. */
export interface PanelContent {
  readonly kicker: string;
  readonly title: string;
  readonly body: readonly (HTMLElement | null)[];
}

/** Returns the part of a use that the filters select, or null. */
export type PartOf = (use: KnownUse) => KnownUse | null;

/** Returns why the resources of a cell, or of a namespace, have their roles. */
export function reasonsBody(
  model: Model, groups: readonly ReasonGroup[], open: Open, partOf: PartOf = (use) => use,
): HTMLElement[] {
  return groups.map(({ reason, uses }) => h(
    "section", { class: "reason" },
    stateLine(reason, uses, partOf), roleLine(model, reason, open), messageLine(model, reason),
    ...causeItems(model, reason), whyItem(model, reason, uses),
    ...reason.selectors.map((index) => selectorItem(model, index, open, reason.role === null)),
    chainItem(reason), resourceList(uses, partOf),
  ));
}

/** Returns the command that prints the repairs of the first resource; null if nothing is wrong, or for manifests. */
function whyItem({ map }: Model, { findings }: Reason, [use]: readonly KnownUse[]): HTMLElement | null {
  if (use === undefined || !map.isCluster || findings.length === 0) return null;
  const [kind, namespace, name = ""] = [use.kind.toLowerCase(), use.namespace.name, ...use.names];
  if (![kind, namespace, name].every((word) => PLAIN.test(word))) return null;
  const command = `ack-role-resolver why ${kind}/${name} -n ${namespace} --cluster`;
  return h("p", { class: "fix" }, h("b", {}, "Commands to repair it: "), h("code", {}, command));
}

/** Matches a name that a shell reads as one word. Users can write any text in a map. */
const PLAIN = /^[a-z0-9][a-z0-9.-]*$/;

/** States how many resources have the state. If the filters select a part of them, their number is first. */
function stateLine({ state }: Reason, uses: readonly KnownUse[], partOf: PartOf): HTMLElement {
  const [word, meaning] = STATE_WORDS[state];
  const [all, part] = [resourcesIn(uses), resourcesIn(uses.flatMap((use) => partOf(use) ?? []))];
  const few = part === all ? "" : `${part.toLocaleString("en")} of `;
  const hint = few === "" ? null : h("small", {}, " (matched by the search and filters)");
  return h(
    "h3", { class: `state ${state}`, title: meaning }, shape(state),
    h("span", {}, `${few}${counted(all, "resource")}: ${word}`, hint),
  );
}

/** Returns the message of the reason; null if a finding says the same. */
function messageLine(model: Model, { message, findings }: Reason): HTMLElement | null {
  const text = message.replace(/\.$/, "");
  if (findings.some((index) => model.map.findings[index]?.message.startsWith(text) === true)) return null;
  return h("p", { class: "message" }, h("bdi", {}, message));
}

/** Returns the role, its account and the region; null if no role resolves. */
function roleLine(model: Model, { role, outcome, region }: Reason, open: Open): HTMLElement | null {
  const rows = outcome === "default" ? ownRoleRows(model, role) : roleRows(model, role, open);
  return factList(region === null ? rows : [...rows, fact("Region", nameText(region))]);
}

function factList(rows: readonly HTMLElement[]): HTMLElement | null {
  return rows.length === 0 ? null : h("dl", { class: "facts" }, ...rows);
}

function ownRoleRows(model: Model, role: number | null): HTMLElement[] {
  const arn = model.roleAt(role)?.arn ?? "the controller's own";
  return [fact("Role", longText(arn)), fact("Account", nameText(model.map.controllerAccount ?? UNKNOWN_ACCOUNT))];
}

const UNKNOWN_ACCOUNT = "unknown: pass --controller-account";

/** Returns the role and its account; [] if there is none. */
function roleRows(model: Model, index: number | null, open: Open): HTMLElement[] {
  const role = model.roleAt(index);
  if (role === null) return [];
  const link = button({ class: "link" }, () => open(["role", role.arn]), longText(role.arn));
  return [fact("Role", link), fact("Account", nameText(role.account ?? "not in the ARN"))];
}

function fact(term: string, value: HTMLElement): HTMLElement {
  return h("div", {}, h("dt", {}, term), h("dd", {}, value));
}

function selectorItem(model: Model, index: number, open: Open, hasRole = false): HTMLElement | null {
  const selector = model.map.selectors[index];
  if (selector === undefined) return null;
  const press = (): void => open(["selector", selector.name]);
  const isWrong = selector.state !== "resolved";
  return h(
    "div", { class: "selector" },
    h("p", {}, "Selector ", button({ class: "link" }, press, nameText(selector.name)),
      isWrong ? h("small", {}, ` ${STATE_WORDS[selector.state][0]}`) : null),
    ...(isWrong ? causeItems(model, selector) : []),
    hasRole ? factList(roleRows(model, selector.role, open)) : null, ...selectorFacts(selector),
  );
}

/** Returns what a selector asks of a resource, and its session settings. */
export function selectorFacts({ conditions, session, state, place }: MapSelector): (HTMLElement | null)[] {
  const isOpen = conditions.length === 0 && state !== "malformed";
  return [
    isOpen ? listOf("Selects", ["every resource, because it has no conditions"]) : conditionList(conditions),
    listOf("Session", session), place === null ? null : listOf("Defined in", [place]),
  ];
}

/** Returns the conditions, each with the path of its field. */
function conditionList(conditions: readonly string[]): HTMLElement | null {
  if (conditions.length === 0) return null;
  const items = conditions.map((text) => {
    const at = text.indexOf(": ");
    return h("li", {}, h("code", {}, h("bdi", {}, text.slice(0, at))), h("bdi", {}, text.slice(at + 2)));
  });
  return h("div", { class: "list" }, h("p", { class: "term" }, "Selects"), h("ul", {}, ...items));
}

function listOf(title: string, texts: readonly string[]): HTMLElement | null {
  if (texts.length === 0) return null;
  const items = texts.map((text) => h("li", {}, longText(text)));
  return h("div", { class: "list" }, h("p", { class: "term" }, title), h("ul", {}, ...items));
}

function chainItem({ chain }: Reason): HTMLElement | null {
  return listOf("Through the identities", chain);
}

const MAX_RESOURCES = 100;

/** Returns the names of the resources, by kind. If the filters select a part of them, it is first, and marked. */
function resourceList(uses: readonly KnownUse[], partOf: PartOf): HTMLElement {
  const several = new Set(uses.map(({ namespace }) => namespace.name)).size > 1;
  const isPart = uses.some((use) => partOf(use) !== use);
  const sorted = uses.toSorted((a, b) => Number(partOf(a) === null) - Number(partOf(b) === null));
  const shown = sorted.slice(0, MAX_RESOURCES).map((use) => h(
    "li", {},
    h("span", { class: "kind" }, several ? nameText(use.namespace.name) : null,
      h("bdi", { title: use.kind }, shortKind(use.kind)), ` × ${use.count}`),
    ...namesOf(use, isPart ? partOf(use) : null),
    use.count > use.names.length ? h("small", {}, ` and ${use.count - use.names.length} more`) : null,
  ));
  const more = uses.length - shown.length;
  return h(
    "div", { class: "list" }, h("p", { class: "term" }, "Resources"), h("ul", { class: "resources" }, ...shown),
    more > 0 ? h("p", { class: "more" }, `and ${more} more kinds or namespaces`) : null,
  );
}

/** Returns the names, first and marked those of the part. */
function namesOf({ names }: KnownUse, part: KnownUse | null): (HTMLElement | null)[] {
  const marked = part?.names ?? [];
  const others = names.filter((name) => !marked.includes(name));
  const comma = others.length === 0 ? "" : ", ";
  return [
    marked.length === 0 ? null : h("mark", {}, h("bdi", {}, marked.join(", ")), comma),
    h("bdi", { class: "names" }, others.join(", ")),
  ];
}

/** Returns who uses a role, and by which selector. */
export function roleContent(model: Model, arn: string, open: Open): PanelContent {
  const users = usersOfRole(model, arn);
  const body = users.map(({ selector, uses }) => roleUsers(model, { selector, uses }, open));
  const text = users.length === 0 ? "Nothing in this map uses the role." : usersText(users.flatMap(({ uses }) => uses));
  return { kicker: "Who uses this role", title: arn, body: [h("p", { class: "message" }, text), ...body] };
}

function roleUsers(model: Model, { selector, uses }: RoleUsers, open: Open): HTMLElement {
  const item = selector === null ? h("p", {}, "Without a selector") : selectorItem(model, selector, open);
  const title = selector === null ? counted(resourcesIn(uses), "resource") : selectionText(uses);
  return h("section", { class: "reason" }, item, usersList(title, uses, open));
}

function usersList(title: string, uses: readonly KnownUse[], open: Open): HTMLElement {
  const namespaces = byNamespace(uses);
  const rows = namespaces.slice(0, MAX_RESOURCES).map(({ namespace, uses: own }) => h(
    "li", {}, button({ class: "link" }, () => open(["namespace", namespace]), nameText(namespace)), countsText(own),
  ));
  const more = namespaces.length - rows.length;
  return h(
    "div", { class: "list" }, h("p", { class: "term" }, title), h("ul", { class: "users" }, ...rows),
    more > 0 ? h("p", { class: "more" }, `and ${more} more`) : null,
  );
}

function countsText(uses: readonly KnownUse[]): HTMLElement {
  const kinds = [...Map.groupBy(uses, ({ kind }) => kind)].map(([kind, own]) => (
    `${resourcesIn(own)} × ${shortKind(kind)}`
  ));
  const shapes = statesOf(uses, markOf).filter(([state]) => state !== "resolved").map(([state]) => shape(state));
  return h("span", { class: "uses" }, ...shapes, h("bdi", {}, kinds.join(", ")));
}

/** Returns a selector, what is wrong with it, and who uses its role because of it. */
export function selectorContent(model: Model, name: string, open: Open): PanelContent {
  const index = model.map.selectors.findIndex((one) => one.name === name);
  const uses = usersOfSelector(model, index);
  const selector = model.map.selectors[index];
  if (selector === undefined) return missing("Selector", name);
  const [word, meaning] = STATE_WORDS[selector.state];
  return {
    kicker: "Selector", title: name,
    body: [
      selector.state === "resolved" ? null : h("h3", { class: `state ${selector.state}` }, shape(selector.state), word),
      selector.state === "resolved" ? null : h("p", { class: "message" }, meaning),
      factList(roleRows(model, selector.role, open)),
      ...causeItems(model, selector), ...selectorFacts(selector),
      usersList(selectionText(uses), uses, open),
    ],
  };
}

export function objectContent(model: Model, index: number): PanelContent {
  const object = model.map.objects[index];
  if (object === undefined) return missing("Object", String(index));
  const place = object.place === null ? null : listOf("Defined in", [object.place]);
  return { kicker: object.kind, title: object.name, body: [...causeItems(model, object), place] };
}

/** Returns the malformed selectors that are written for the namespaces of uses: no resource has their roles. */
export function malformedItems(model: Model, uses: readonly KnownUse[], open: Open): HTMLElement[] {
  return ignoredIn(uses).map((index) => h(
    "section", { class: "reason" },
    h("h3", { class: "state malformed" }, shape("malformed"), "Malformed selector for this namespace"),
    h("p", { class: "message" }, STATE_WORDS.malformed[1]), selectorItem(model, index, open),
  ));
}

export function unjudgedContent(model: Model, index: number): PanelContent {
  const object = model.map.unjudged[index];
  if (object === undefined) return missing("Object", String(index));
  const { file, what, fix } = object;
  const title = file ?? "in the cluster";
  return { kicker: "Not judged", title, body: [listOf("Contains", [what]), listOf("To judge it", [fix])] };
}

export function missing(kicker: string, title: string): PanelContent {
  return { kicker, title, body: [h("p", {}, "This map does not contain it. The link may be of another map.")] };
}
