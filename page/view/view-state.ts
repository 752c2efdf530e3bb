import { type State, STATES } from "../../shared/diagnosis/role-map/role-map.ts";

/** How rows are grouped: by what needs attention, not at all, or by the label with the key. */
export const BY_ATTENTION = "";
export const BY_NAME = "*";

/** What the page shows. The part of the URL after # contains it, so that a link shows the same. */
export interface View {
  readonly tab: "map" | "change";
  /** The index of the map, if the page has one for each root. */
  readonly root: number;
  readonly query: string;
  /** Only resources in these states; all if it is empty. */
  readonly states: readonly State[];
  /** Only resources of this kind; all if it is "". */
  readonly kind: string;
  /** BY_ATTENTION, BY_NAME, or `label:KEY`. */
  readonly group: string;
  /** The accounts that have a column for each role. */
  readonly accounts: readonly string[];
  /** Whether equal rows are one row. */
  readonly isFolded: boolean;
  /** The first namespaces of the folded rows that are unfolded. */
  readonly unfolded: readonly string[];
  /** What the panel explains: the parts of its address, such as `["cell", NAMESPACE, COLUMN]`; [] if it is closed. */
  readonly open: readonly string[];
}

export const FIRST_VIEW: View = {
  tab: "map", root: 0, query: "", states: [], kind: "", group: BY_ATTENTION, accounts: [], isFolded: true,
  unfolded: [], open: [],
};

/** Returns the part of the URL after #: the tab, and what is not as in the first view. */
export function formatView(view: View): string {
  const pairs = [
    ["tab", view.tab], ["root", view.root === 0 ? "" : String(view.root)],
    ["q", view.query], ...view.states.map((state) => ["state", state]), ["kind", view.kind], ["group", view.group],
    ...view.accounts.map((account) => ["roles", account]), ["rows", view.isFolded ? "" : "all"],
    ...view.unfolded.map((name) => ["unfold", name]), ...view.open.map((part) => ["open", part]),
  ].filter(([, value]) => value !== "");
  return new URLSearchParams(pairs).toString();
}

/** Reads the part of the URL after #. Ignores what it does not know, because anyone can write a link. */
export function parseView(hash: string, roots: number): View {
  const values = new URLSearchParams(hash);
  const root = Number(values.get("root") ?? 0);
  return {
    tab: values.get("tab") === "change" ? "change" : "map",
    root: Number.isInteger(root) && root >= 0 && root < roots ? root : 0,
    query: values.get("q") ?? "",
    states: STATES.filter((state) => values.getAll("state").includes(state)),
    kind: values.get("kind") ?? "",
    group: values.get("group") ?? BY_ATTENTION,
    accounts: values.getAll("roles"),
    isFolded: values.get("rows") !== "all",
    unfolded: values.getAll("unfold"),
    open: values.getAll("open"),
  };
}
