import { fill, h } from "./dom.ts";
import { type GridPosition, nextPosition } from "./view/grid-keys.ts";
import { visibleRange } from "./view/range.ts";

/** What a grid shows. Only the visible part is in the document. */
export interface GridSource {
  readonly label: string;
  readonly rowCount: number;
  /** The number of columns beside the first one, which has the headings of the rows. */
  readonly columnCount: number;
  /** Returns the columns of the cells that a row has, ascending. */
  readonly cellsOf: (row: number) => readonly number[];
  readonly corner: () => HTMLElement;
  readonly head: (column: number) => HTMLElement;
  readonly rowHead: (row: number) => HTMLElement;
  readonly cell: (position: GridPosition) => HTMLElement;
  /** Called with Enter or a click; column -1 is the heading of the row. */
  readonly press: (position: GridPosition) => void;
}

const MARGIN_ROWS = 8;
const MARGIN_COLUMNS = 2;

/** A table of which only the visible part is in the document. The sizes of rows and columns are CSS variables. */
export class Grid {
  readonly element = h("div", { class: "grid", role: "grid", tabindex: 0 });
  readonly #head = h("div", { class: "grid-head", role: "row" });
  readonly #body = h("div", { class: "grid-body", role: "rowgroup" });
  #source: GridSource | null = null;
  #active: GridPosition = { row: 0, column: -1 };
  #isQueued = false;

  constructor() {
    this.element.append(h("div", { role: "rowgroup", class: "grid-top" }, this.#head), this.#body);
    this.element.addEventListener("scroll", () => this.#queue(), { passive: true });
    this.element.addEventListener("click", (event) => this.#press(event));
    this.element.addEventListener("keydown", (event) => this.#key(event));
    new ResizeObserver(() => this.#queue()).observe(this.element);
  }

  show(source: GridSource): void {
    this.#source = source;
    this.#active = { row: 0, column: -1 };
    this.element.setAttribute("aria-label", source.label);
    this.element.setAttribute("aria-rowcount", String(source.rowCount + 1));
    this.element.setAttribute("aria-colcount", String(source.columnCount + 1));
    this.#render();
  }

  /** Moves the focus to the active cell, for example after the panel was closed. */
  focus(): void {
    this.#render();
    this.#activeElement()?.focus({ preventScroll: true });
  }

  #queue(): void {
    if (this.#isQueued) return;
    this.#isQueued = true;
    requestAnimationFrame(() => {
      this.#isQueued = false;
      this.#render();
    });
  }

  #sizes(): { readonly row: number; readonly column: number; readonly first: number } {
    const style = getComputedStyle(this.element);
    const read = (name: string): number => Number.parseFloat(style.getPropertyValue(name));
    return { row: read("--row"), column: read("--column"), first: read("--first") };
  }

  #render(): void {
    const source = this.#source;
    if (source === null) return;
    const { row, column, first } = this.#sizes();
    const { scrollTop, scrollLeft, clientHeight, clientWidth } = this.element;
    const rows = visibleRange(
      { position: scrollTop, viewport: clientHeight, size: row, count: source.rowCount }, MARGIN_ROWS,
    );
    const viewport = Math.max(0, clientWidth - first);
    const columns = visibleRange(
      { position: scrollLeft, viewport, size: column, count: source.columnCount }, MARGIN_COLUMNS,
    );
    const hadFocus = this.#body.contains(document.activeElement);
    const width = `${first + column * source.columnCount}px`;
    for (const part of [this.#head, this.#body]) part.style.setProperty("min-width", width);
    this.#body.style.setProperty("--columns", String(source.columnCount));
    this.#body.style.setProperty("height", `${row * source.rowCount}px`);
    const left = (index: number): string => `${first + column * index}px`;
    const heads = indexes(columns).map((index) => placed(source.head(index), "left", left(index)));
    fill(this.#head, source.corner(), ...heads.map((one, i) => numbered(one, "aria-colindex", columns[0] + i + 2)));
    fill(this.#body, ...indexes(rows).map((index) => this.#row(source, index, { columns, left, row })));
    if (hadFocus) (this.#activeElement() ?? this.element).focus({ preventScroll: true });
  }

  #row(
    source: GridSource, index: number,
    { columns: [from, to], left, row }: {
      readonly columns: readonly [number, number]; readonly left: (index: number) => string; readonly row: number;
    },
  ): HTMLElement {
    const cells = source.cellsOf(index).filter((column) => column >= from && column < to).map((column) => (
      this.#marked(placed(source.cell({ row: index, column }), "left", left(column)), { row: index, column })
    ));
    const head = this.#marked(source.rowHead(index), { row: index, column: -1 });
    const element = h("div", { role: "row", class: "grid-row", "aria-rowindex": index + 2 }, head, ...cells);
    return placed(element, "transform", `translateY(${row * index}px)`);
  }

  /** Only the active cell can be reached with Tab, as in each grid: https://www.w3.org/WAI/ARIA/apg/patterns/grid/ */
  #marked(element: HTMLElement, { row, column }: GridPosition): HTMLElement {
    const isActive = row === this.#active.row && column === this.#active.column;
    element.dataset["row"] = String(row);
    element.dataset["column"] = String(column);
    element.tabIndex = isActive ? 0 : -1;
    return numbered(element, "aria-colindex", column + 2);
  }

  #activeElement(): HTMLElement | null {
    const { row, column } = this.#active;
    return this.#body.querySelector(`[data-row="${row}"][data-column="${column}"]`);
  }

  #press(event: Event): void {
    const target = event.target instanceof Element ? event.target.closest<HTMLElement>("[data-row]") : null;
    if (target === null) return;
    this.#active = { row: Number(target.dataset["row"]), column: Number(target.dataset["column"]) };
    this.#source?.press(this.#active);
  }

  #key(event: KeyboardEvent): void {
    const source = this.#source;
    if (source === null || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target instanceof HTMLButtonElement) return;
    if (event.key === "Enter" || event.key === " ") {
      source.press(this.#active);
      event.preventDefault();
      return;
    }
    const next = nextPosition(source, this.#active, event.key);
    if (next === null) return;
    event.preventDefault();
    this.#active = next;
    this.#scrollTo(next);
    this.#render();
    this.#activeElement()?.focus({ preventScroll: true });
  }

  #scrollTo({ row, column }: GridPosition): void {
    const sizes = this.#sizes();
    const { element } = this;
    const top = this.#head.offsetHeight;
    const [from, to] = [row * sizes.row, (row + 1) * sizes.row + top];
    if (from < element.scrollTop) element.scrollTop = from;
    if (to > element.scrollTop + element.clientHeight) element.scrollTop = to - element.clientHeight;
    if (column < 0) return;
    const [start, end] = [column * sizes.column, (column + 1) * sizes.column + sizes.first];
    if (start < element.scrollLeft) element.scrollLeft = start;
    if (end > element.scrollLeft + element.clientWidth) element.scrollLeft = end - element.clientWidth;
  }
}

function indexes([first, last]: readonly [number, number]): number[] {
  return Array.from({ length: last - first }, (_, i) => first + i);
}

function placed(element: HTMLElement, property: string, value: string): HTMLElement {
  element.style.setProperty(property, value);
  return element;
}

function numbered(element: HTMLElement, name: string, value: number): HTMLElement {
  element.setAttribute(name, String(value));
  return element;
}
