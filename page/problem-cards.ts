import { button, h, nameText } from "./dom.ts";
import type { Open } from "./panel.ts";
import { shape } from "./shapes.ts";
import type { Place, ProblemGroup } from "./view/problems.ts";
import { STATE_WORDS } from "./view/words.ts";

/** The number of places that a card shows. Its button shows the others. */
const MAX_PLACES = 6;

/** Returns a card for each group, or a sentence if nothing is wrong. */
export function problemCards(groups: readonly ProblemGroup[], query: string, open: Open): HTMLElement[] {
  if (groups.length === 0 && query === "") return [h("p", { class: "fine" }, shape("resolved"), "Nothing is wrong.")];
  return groups.map((group) => problemCard(group, open));
}

function problemCard({ state, count, title: text, places }: ProblemGroup, open: Open): HTMLElement {
  const isProblem = state !== null && state !== "resolved";
  const title = h(
    "h2", { title: isProblem ? STATE_WORDS[state][1] : null }, isProblem ? shape(state) : null,
    h("b", {}, count.toLocaleString("en")), ` ${text}`,
  );
  const list = h("ul", {}, ...places.slice(0, MAX_PLACES).map((place) => placeItem(place, open)));
  const rest = places.slice(MAX_PLACES);
  if (rest.length === 0) return h("section", { class: `card ${state ?? "other"}` }, title, list);
  const more = button({ class: "link more" }, () => {
    list.append(...rest.slice(0, MAX_SHOWN).map((place) => placeItem(place, open)));
    more.remove();
  }, `and ${rest.length.toLocaleString("en")} more`);
  return h("section", { class: `card ${state ?? "other"}` }, title, list, more);
}

const MAX_SHOWN = 500;

function placeItem({ subject, detail, open: address }: Place, open: Open): HTMLElement {
  const parts = [nameText(subject), h("bdi", { class: "detail", title: detail }, detail)];
  return h("li", {}, button({ class: "place" }, () => open(address), ...parts));
}
