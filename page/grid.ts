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

/** The sizes in pixels, and the visible columns. */
interface Layout {
  readonly columns: readonly [number, number];
  readonly first: number;
  readonly row: number;
  readonly column: number;
}

const MARGIN_ROWS = 8;
const MARGIN_COLUMNS = 3;

/**
 * A table of which only the visible part is in the document. The sizes of rows and columns are CSS variables. Its frame
 * shows on which sides there are more columns.
 */
export class Grid {
  readonly element = h("div", { class: "grid", role: "grid", tabindex: 0 });
  readonly #head = h("div", { class: "grid-head", role: "row" });
  readonly #body = h("div", { class: "grid-body", role: "rowgroup" });
  readonly frame = h("div", { class: "frame" }, this.element);
  #source: GridSource | null = null;
  #active: GridPosition = { row: 0, column: -1 };
  #isQueued = false;
  readonly #rows = new Map<number, HTMLElement>();
  /** The layout of the rows in the document. */
  #layout = "";

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
    this.#render(true);
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

  /** Returns the sizes. Columns share the width that is left, up to a limit. */
  #sizes(): Omit<Layout, "columns"> {
    const style = getComputedStyle(this.element);
    const read = (name: string): number => Number.parseFloat(style.getPropertyValue(name));
    const [first, least] = [read("--first"), read("--least")];
    const room = Math.floor((this.element.clientWidth - first) / Math.max(1, this.#source?.columnCount ?? 1));
    return { row: read("--row"), first, column: Math.max(least, Math.min(room, read("--most"))) };
  }

  /** Shows what is visible now. Keeps the rows that were visible before, unless something else changed. */
  #render(isChanged = false): void {
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
    const layout = { columns, first, row, column };
    const key = JSON.stringify(layout);
    if (isChanged || key !== this.#layout) this.#showHead(source, layout);
    this.#layout = key;
    const right = first + column * source.columnCount - scrollLeft;
    this.frame.classList.toggle("more-left", scrollLeft > 0);
    this.frame.classList.toggle("more-right", right > clientWidth + 1);
    this.#showRows(rows, (index) => this.#row(source, index, layout));
    if (hadFocus && !this.#body.contains(document.activeElement)) {
      (this.#activeElement() ?? this.element).focus({ preventScroll: true });
    }
  }

  #showHead(source: GridSource, { columns, first, row, column }: Layout): void {
    const width = `${first + column * source.columnCount}px`;
    for (const part of [this.#head, this.#body]) part.style.setProperty("min-width", width);
    this.element.style.setProperty("--column", `${column}px`);
    this.#body.style.setProperty("--columns", String(source.columnCount));
    this.#body.style.setProperty("height", `${row * source.rowCount}px`);
    const heads = indexes(columns).map((index) => {
      const head = placed(source.head(index), "left", `${first + column * index}px`);
      return numbered(head, "aria-colindex", index + 2);
    });
    fill(this.#head, source.corner(), ...heads);
    fill(this.#body);
    this.#rows.clear();
  }

  /** Removes the rows that are not visible anymore, and inserts the others in order. */
  #showRows(range: readonly [number, number], create: (index: number) => HTMLElement): void {
    const [from, to] = range;
    for (const [index, element] of this.#rows) {
      if (index >= from && index < to) continue;
      element.remove();
      this.#rows.delete(index);
    }
    let next: HTMLElement | null = null;
    for (const index of indexes(range).toReversed()) {
      const known = this.#rows.get(index);
      const element: HTMLElement = known ?? create(index);
      if (known === undefined) this.#body.insertBefore(element, next);
      this.#rows.set(index, element);
      next = element;
    }
  }

  #row(source: GridSource, index: number, { columns: [from, to], first, row, column }: Layout): HTMLElement {
    const cells = source.cellsOf(index).filter((one) => one >= from && one < to).map((one) => {
      const cell = placed(source.cell({ row: index, column: one }), "left", `${first + column * one}px`);
      return this.#marked(cell, { row: index, column: one });
    });
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

  #activate(position: GridPosition): void {
    const before = this.#activeElement();
    if (before !== null) before.tabIndex = -1;
    this.#active = position;
    const after = this.#activeElement();
    if (after !== null) after.tabIndex = 0;
  }

  #activeElement(): HTMLElement | null {
    const { row, column } = this.#active;
    return this.#body.querySelector(`[data-row="${row}"][data-column="${column}"]`);
  }

  #press(event: Event): void {
    const target = event.target instanceof Element ? event.target.closest<HTMLElement>("[data-row]") : null;
    if (target === null) return;
    this.#activate({ row: Number(target.dataset["row"]), column: Number(target.dataset["column"]) });
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
    this.#scrollTo(next);
    this.#render();
    this.#activate(next);
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
