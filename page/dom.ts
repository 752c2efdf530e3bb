type Child = Node | string | null;
type Attributes = Readonly<Record<string, string | number | boolean | null>>;

/**
 * Returns an element. Strings become text, never markup. An attribute that is false or null is left out. Names of the
 * cluster belong in `nameText`.
 */
export function h<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag, attributes: Attributes = {}, ...children: readonly Child[]
): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== false) element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

/** Returns a name as text whose direction does not affect its surroundings. CSS cuts it, and its title is whole. */
export function nameText(text: string, className = "name"): HTMLElement {
  return h("bdi", { class: className, title: text }, text);
}

/** Returns a long name, such as an ARN, that can break after each `/` and `:`. */
export function longText(text: string): HTMLElement {
  const parts = text.split(/(?<=[/:])/).flatMap((part) => [part, h("wbr")]);
  return h("bdi", { class: "name", title: text }, ...parts);
}

/** Returns a button that calls `press`. */
export function button(
  attributes: Attributes, press: (event: MouseEvent) => void, ...children: readonly Child[]
): HTMLButtonElement {
  const element = h("button", { type: "button", ...attributes }, ...children);
  element.addEventListener("click", press);
  return element;
}

/** Replaces what an element contains. */
export function fill(element: Element, ...children: readonly Child[]): void {
  element.replaceChildren(...children.filter((child) => child !== null));
}
