import type { RoleMap } from "../shared/diagnosis/role-map/role-map.ts";
import { changeSource } from "./change-list.ts";
import { button, fill, h, longText } from "./dom.ts";
import { Grid } from "./grid.ts";
import { matrixSource } from "./matrix.ts";
import { panelContent } from "./panel-content.ts";
import { printMoves, printUses } from "./print.ts";
import { problemCards } from "./problem-cards.ts";
import { nothingText, Toolbar } from "./toolbar.ts";
import { Model } from "./view/model.ts";
import { type ChangeRow, changeRows } from "./view/moves.ts";
import { foundRoles, type ProblemGroup, problemGroups } from "./view/problems.ts";
import { addressOf, filteredUses, type Matrix, matrixOf } from "./view/rows.ts";
import { rolesOf } from "./view/details.ts";
import { FIRST_VIEW, formatView, parseView, type View } from "./view/view-state.ts";
import { counted } from "./view/words.ts";

/** The page of one or several role maps. Its state is a view, which is also in the URL. */
export class Page {
  #maps: readonly RoleMap[];
  readonly #toolbar = new Toolbar((patch) => this.#change(patch), () => this.#openFirst());
  readonly #grid = new Grid();
  readonly #header = h("header", {});
  readonly #problems = h("div", { class: "cards" });
  readonly #panel = h("aside", { class: "panel", "aria-labelledby": "panel-title", hidden: true });
  readonly #print = h("div", { class: "print" });
  readonly #omitted = h("div", {});
  readonly #nothing = h("p", { class: "nothing", role: "status" });
  #view: View = FIRST_VIEW;
  #model: Model;
  #matrix: Matrix | null = null;
  #rows: readonly ChangeRow[] = [];
  #groups: readonly ProblemGroup[] = [];
  /** What the panel explained before, for the way back. */
  #trail: readonly (readonly string[])[] = [];

  constructor(maps: readonly RoleMap[]) {
    this.#maps = maps;
    this.#model = this.#modelOf(0);
  }

  #modelOf(root: number): Model {
    const map = this.#maps[root];
    if (map === undefined) throw new Error("the page contains no map");
    return new Model(map);
  }

  start(): void {
    const { moves } = this.#model.map;
    const first: View = { ...FIRST_VIEW, tab: moves === null ? "map" : "change" };
    document.body.append(
      this.#header,
      h("main", {},
        this.#toolbar.searchForm, h("section", { class: "wrong", "aria-label": "What is wrong" }, this.#problems),
        this.#toolbar.element, this.#grid.frame, this.#nothing, this.#omitted,
        h("p", { class: "keys" }, "Keys: / searches, arrows move, Enter opens, Esc goes back.")),
      this.#panel, this.#print,
    );
    addEventListener("hashchange", () => {
      this.#trail = [];
      this.#show(parseView(location.hash.slice(1), this.#maps.length));
    });
    addEventListener("keydown", (event) => this.#key(event));
    addEventListener("beforeprint", () => this.#fillPrint());
    addEventListener("afterprint", () => fill(this.#print));
    this.#toolbar.offer(this.#model);
    this.#show(location.hash === "" ? first : parseView(location.hash.slice(1), this.#maps.length));
  }

  /** Shows other maps in the same view. */
  load(maps: readonly RoleMap[]): void {
    this.#maps = maps;
    const view = { ...this.#view, root: this.#view.root < maps.length ? this.#view.root : 0 };
    this.#model = this.#modelOf(view.root);
    this.#toolbar.offer(this.#model);
    this.#matrix = null;
    this.#show(view);
  }

  #change(patch: Partial<View>): void {
    const view = { ...this.#view, ...patch };
    history.replaceState(null, "", `#${formatView(view)}`);
    this.#show(view);
  }

  #show(view: View): void {
    if (view.root !== this.#view.root) {
      this.#model = this.#modelOf(view.root);
      this.#toolbar.offer(this.#model);
    }
    const isOther = JSON.stringify({ ...view, open: [] }) !== JSON.stringify({ ...this.#view, open: [] });
    this.#view = view;
    if (isOther || this.#matrix === null) this.#showContent();
    this.#showPanel();
  }

  #showContent(): void {
    const [model, view] = [this.#model, this.#view];
    const isMap = view.tab === "map";
    fill(this.#header, ...this.#title(), this.#tabs());
    fill(this.#omitted, ...model.map.omitted.map((text) => h("p", { class: "omitted" }, text)));
    this.#groups = isMap ? problemGroups(model, view.query) : [];
    fill(this.#problems, ...(isMap ? problemCards(this.#groups, view.query, this.#open) : []));
    this.#matrix = matrixOf(model, view);
    this.#rows = changeRows(model, view);
    const isEmpty = (isMap ? this.#matrix.rows : this.#rows).length === 0;
    fill(this.#nothing, isEmpty ? nothingText(view) : null);
    this.#grid.frame.hidden = isEmpty;
    this.#grid.frame.classList.toggle("of-change", !isMap);
    this.#grid.show(isMap ? matrixSource(this.#matrix, model.map.controllerAccount, {
      open: this.#open, toggleAccount: (account) => this.#toggleAccount(account),
      unfold: (name) => this.#change({ unfolded: [...this.#view.unfolded, name] }),
    }) : changeSource(this.#rows, this.#open));
    const moved = this.#rows.filter((row) => row.type === "move");
    this.#toolbar.show(view, model, isMap ? this.#matrix : {
      namespaces: new Set(moved.map(({ namespace }) => namespace)).size,
      resources: moved.reduce((sum, { count }) => sum + count, 0), states: [],
    });
  }

  #title(): HTMLElement[] {
    const { totals: { resources, namespaces, selectors }, root } = this.#model.map;
    const { roles, used } = rolesOf(this.#model);
    const accounts = new Set(Array.from(roles, ({ account }) => account));
    const part = used === roles.size ? "" : ` (${used.toLocaleString("en")} in use)`;
    const text = `${counted(resources, "resource")} in ${counted(namespaces, "namespace")}, `
      + `${counted(selectors, "selector")}, ${counted(roles.size, "role")}${part} `
      + `in ${counted(accounts.size, "account")}`;
    return [
      h("h1", {}, "Role map", root === null ? null : this.#rootSelect()), h("p", { class: "totals" }, text),
    ];
  }

  #rootSelect(): HTMLElement {
    const select = h("select", { "aria-label": "Cluster" }, ...this.#maps.map(({ root }, index) => (
      h("option", { value: index, selected: index === this.#view.root }, root ?? "")
    )));
    select.addEventListener("change", () => (
      this.#change({ ...FIRST_VIEW, tab: this.#view.tab, root: Number(select.value) })
    ));
    return select;
  }

  #tabs(): HTMLElement | null {
    if (this.#model.map.moves === null) return null;
    const tab = (name: View["tab"], text: string): HTMLElement => button(
      { "aria-current": this.#view.tab === name ? "page" : null },
      () => this.#change({ tab: name, open: [] }), text,
    );
    return h("nav", { class: "tabs", "aria-label": "Views" }, tab("change", "Change"), tab("map", "Map after it"));
  }

  #toggleAccount(account: string): void {
    const { accounts } = this.#view;
    const others = accounts.filter((one) => one !== account);
    this.#change({ accounts: others.length < accounts.length ? others : [...accounts, account] });
  }

  readonly #open = (open: readonly string[]): void => {
    this.#trail = [];
    this.#change({ open });
  };

  readonly #follow = (open: readonly string[]): void => {
    this.#trail = [...this.#trail, this.#view.open];
    this.#change({ open });
  };

  /** Opens what the search finds first: who uses the role of that name, or else in the rows or in the lists. */
  #openFirst(): void {
    const [role] = foundRoles(this.#model, this.#view.query);
    const move = this.#rows.find((row) => row.type === "move");
    const row = this.#matrix?.rows.find((one) => one.type === "namespace");
    const place = this.#groups.flatMap(({ places }) => places)[0];
    if (this.#view.tab === "change") {
      if (move !== undefined) this.#open(["move", String(move.index)]);
    } else if (role !== undefined) this.#open(["role", role.arn]);
    else if (row?.type === "namespace") this.#open(addressOf(row));
    else if (place !== undefined) this.#open(place.open);
  }

  #showPanel(): void {
    const { open } = this.#view;
    const wasHidden = this.#panel.hidden !== false;
    this.#panel.hidden = open.length === 0;
    if (open.length === 0) return;
    const shown = { model: this.#model, matrix: this.#matrix, view: this.#view, open: this.#follow };
    const { kicker, title, body } = panelContent(shown, open);
    const close = button({ class: "close", "aria-label": "Close" }, () => this.#close(), "×");
    const back = this.#trail.length === 0 ? null : button({ class: "link" }, () => this.#back(), "‹ Back");
    const heading = h("h2", { id: "panel-title", tabindex: -1 }, longText(title));
    const top = h("p", { class: "kicker" }, back, back === null ? null : " ", kicker);
    fill(this.#panel, h("div", { class: "panel-head" }, top, close, heading), ...body);
    this.#panel.scrollTop = 0;
    if (wasHidden || this.#panel.contains(document.activeElement)) heading.focus({ preventScroll: true });
  }

  #close(): void {
    this.#trail = [];
    this.#change({ open: [] });
    this.#grid.focus();
  }

  /** Explains what the panel explained before, or closes it. */
  #back(): void {
    const open = this.#trail.at(-1);
    if (open === undefined) {
      this.#close();
      return;
    }
    this.#trail = this.#trail.slice(0, -1);
    this.#change({ open });
  }

  #key(event: KeyboardEvent): void {
    const isTyping = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement;
    if (event.key === "Escape" && this.#view.open.length > 0) this.#back();
    else if (event.key === "/" && !isTyping) {
      event.preventDefault();
      this.#toolbar.search.focus();
    }
  }

  #fillPrint(): void {
    // Paper has no buttons.
    for (const more of this.#problems.querySelectorAll<HTMLElement>("button.more")) more.click();
    if (this.#view.tab === "map") printUses(this.#print, filteredUses(this.#model, this.#view));
    else printMoves(this.#print, this.#rows.filter((row) => row.type === "move"));
  }
}
