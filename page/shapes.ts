import type { State } from "../shared/diagnosis/role-map/role-map.ts";

const SVG = "http://www.w3.org/2000/svg";

/** The outline of each state in a square of 16 units. The states differ by shape, not only by color. */
const OUTLINES: Readonly<Record<State, string>> = {
  conflict: "M8 1.5 15 14H1Z",
  refused: "M2 2h12v12H2ZM5 7v2h6V7Z",
  malformed: "m3.5 1.4 4.5 4.5 4.5-4.5 2.1 2.1L10.1 8l4.5 4.5-2.1 2.1L8 10.1l-4.5 4.5-2.1-2.1L5.9 8 1.4 3.5Z",
  faulty: "M1 2h14L8 14.5Z",
  stale: "M8 1a7 7 0 1 0 0 14A7 7 0 0 0 8 1ZM8 3a5 5 0 1 1 0 10A5 5 0 0 1 8 3ZM7 4.5v4.2l3 1.8.9-1.6L9 7.7V4.5Z",
  default: "M8 .8 15.2 8 8 15.2.8 8ZM8 4 4 8l4 4 4-4Z",
  unjudged: "M2 2h4v2H4v2H2ZM10 2h4v4h-2V4h-2ZM12 10h2v4h-4v-2h2ZM2 10h2v2h2v2H2Z",
  resolved: "M8 3a5 5 0 1 0 0 10A5 5 0 0 0 8 3Z",
};

/** Returns the shape of a state. The words beside it say the same, so it is hidden from screen readers. */
export function shape(state: State): SVGSVGElement {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("class", `shape ${state}`);
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", OUTLINES[state]);
  path.setAttribute("fill-rule", "evenodd");
  svg.append(path);
  return svg;
}
