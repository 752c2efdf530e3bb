import { button, h, nameText } from "./dom.ts";
import type { Open } from "./panel.ts";
import { shape } from "./shapes.ts";
import type { Path } from "./view/paths.ts";
import { counted, roleName, STATE_WORDS } from "./view/words.ts";

const MAX_PATHS = 8;
/** The states in which nothing uses the role at the end of the path. */
const BROKEN: ReadonlySet<Path["state"]> = new Set(["conflict", "refused", "malformed"]);

/** Returns a drawing of the paths from a namespace by selectors to roles. Read aloud, it is a list of sentences. */
export function pathDrawing(title: string, paths: readonly Path[], ownAccount: string | null, open: Open): HTMLElement {
  const shown = paths.slice(0, MAX_PATHS).map((path) => pathItem(path, ownAccount, open));
  const more = paths.length - shown.length;
  return h(
    "div", { class: "paths", role: "group", "aria-label": "From the namespace to the role" },
    h("div", { class: "node route" }, nameText(title)),
    h("ul", {}, ...shown, more > 0 ? h("li", { class: "more" }, `and ${counted(more, "path")} more`) : null),
  );
}

function pathItem({ selector, instead, role, isOwn, state }: Path, ownAccount: string | null, open: Open): HTMLElement {
  const by = selector === null
    ? h("div", { class: "node quiet" }, nameText(instead))
    : button({ class: "node" }, () => open(["selector", selector.name]), spoken("selector "), nameText(selector.name));
  const arrow = h("span", { class: BROKEN.has(state) ? "arrow broken" : "arrow" }, shape(state));
  return h("li", { class: "route" }, by, arrow, spoken(`: ${STATE_WORDS[state][0]}, role `), roleNode());

  function roleNode(): HTMLElement {
    if (isOwn) return h("div", { class: "node quiet" }, "controller's own role", h("small", {}, ownAccount ?? ""));
    if (role === null) return h("div", { class: "node quiet" }, "none");
    return button(
      { class: "node", title: role.arn }, () => open(["role", role.arn]), nameText(roleName(role.arn)),
      h("small", {}, role.account ?? ""),
    );
  }
}

function spoken(text: string): HTMLElement {
  return h("span", { class: "spoken" }, text);
}
