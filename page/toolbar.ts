import { type State, STATES } from "../shared/diagnosis/role-map/role-map.ts";
import { button, fill, h } from "./dom.ts";
import { shape } from "./shapes.ts";
import { compare } from "./view/columns.ts";
import type { Model } from "./view/model.ts";
import { type Matrix, statesOf } from "./view/rows.ts";
import { BY_ATTENTION, BY_NAME, type View } from "./view/view-state.ts";
import { counted, STATE_WORDS } from "./view/words.ts";

export type Change = (patch: Partial<View>) => void;

/** The controls that filter and group what a tab shows. */
export class Toolbar {
  readonly element = h("div", { class: "toolbar", role: "group", "aria-label": "Filter" });
  readonly search = h("input", {
    type: "search", placeholder: "Search namespace, resource, role, selector", "aria-label": "Search",
    autocomplete: "off", spellcheck: "false",
  });
  readonly searchForm = h("form", { class: "search", role: "search" }, this.search);
  readonly #kind = h("select", { "aria-label": "Kind" });
  readonly #group = h("select", { "aria-label": "Group by" });
  readonly #fold = h("input", { type: "checkbox" });
  readonly #states = h("div", { class: "chips", role: "group", "aria-label": "States" });
  readonly #grouping: HTMLElement;
  readonly #status = h("p", { class: "status", role: "status" });
  readonly #change: Change;
  /** The states that the resources of the map have. */
  #offered: readonly State[] = [];

  constructor(change: Change, openFirst: () => void) {
    this.#change = change;
    this.#grouping = h(
      "span", { class: "grouping" }, h("label", {}, "Group by ", this.#group),
      h("label", { class: "check" }, this.#fold, "One row for namespaces with the same accounts and states"),
    );
    this.element.append(h("label", {}, "Kind ", this.#kind), this.#grouping, this.#states, this.#status);
    this.searchForm.addEventListener("submit", (event) => {
      event.preventDefault();
      openFirst();
    });
    this.search.addEventListener("input", () => change({ query: this.search.value.trim() }));
    this.#kind.addEventListener("change", () => change({ kind: this.#kind.value }));
    this.#group.addEventListener("change", () => change({ group: this.#group.value, unfolded: [] }));
    this.#fold.addEventListener("change", () => change({ isFolded: this.#fold.checked, unfolded: [] }));
  }

  /** Offers the kinds and labels of a map. */
  offer({ map, uses }: Model): void {
    this.#offered = statesOf(uses).map(([state]) => state).toReversed();
    const kinds = map.kinds.toSorted(compare);
    fill(this.#kind, option("", "all kinds"), ...kinds.map((kind) => option(kind, kind)));
    const keys = new Set(map.namespaces.flatMap(({ labels }) => labels.map(([key]) => key)));
    const labels = [...keys].filter((key) => key !== NAME_LABEL).toSorted(compare);
    fill(
      this.#group, option(BY_ATTENTION, "what needs attention"), option(BY_NAME, "nothing, by name"),
      ...labels.map((key) => option(`label:${key}`, `label ${key}`)),
    );
  }

  show(view: View, { map }: Model, shown: Pick<Matrix, "namespaces" | "resources" | "states">): void {
    if (this.search.value.trim() !== view.query) this.search.value = view.query;
    this.#kind.value = view.kind;
    this.#group.value = view.group;
    this.#fold.checked = view.isFolded;
    const isMap = view.tab === "map";
    this.#grouping.hidden = !isMap;
    this.#states.hidden = !isMap;
    const left = new Map(shown.states);
    fill(this.#states, ...this.#offered.map((state) => this.#chip(state, view.states, left.get(state) ?? 0)));
    const counts = `${counted(shown.resources, "resource")} in ${counted(shown.namespaces, "namespace")}`;
    fill(this.#status, counts, isFiltered(view) ? ` of ${counted(map.totals.resources, "resource")}` : "");
    if (isFiltered(view)) {
      const clear = (): void => this.#change({ query: "", kind: "", states: [] });
      this.#status.append(" ", button({ class: "link" }, clear, "Show all"));
    }
  }

  #chip(state: State, selected: readonly State[], count: number): HTMLElement {
    const isOn = selected.includes(state);
    const [word, meaning] = STATE_WORDS[state];
    const next = isOn ? selected.filter((one) => one !== state) : [...selected, state];
    return button(
      { class: `chip ${state}`, "aria-pressed": isOn ? "true" : "false", title: meaning },
      () => this.#change({ states: STATES.filter((one) => next.includes(one)) }),
      shape(state), h("b", {}, count.toLocaleString("en")), ` ${word}`,
    );
  }
}

function isFiltered({ query, kind, states }: View): boolean {
  return query !== "" || kind !== "" || states.length > 0;
}

/** Returns why a view without a resource has none. */
export function nothingText(view: View): string {
  if (view.query === "") return isFiltered(view) ? "No resource matches the filters." : "There is no resource.";
  return `No resource matches "${view.query}". Search takes a namespace, resource, role or selector; several `
    + "words must all match.";
}

/** The API server sets this label on every namespace, each with its own value. */
const NAME_LABEL = "kubernetes.io/metadata.name";

function option(value: string, text: string): HTMLElement {
  return h("option", { value }, text);
}
