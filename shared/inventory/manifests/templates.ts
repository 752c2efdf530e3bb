/** The delimiters of actions: Backstage, Helm and Go templates, Jinja, Terraform, and variables of envsubst. */
const ACTIONS: ReadonlyMap<string, string> = new Map([
  ["${{", "}}"], ["{{", "}}"], ["{%", "%}"], ["{#", "#}"], ["%{", "}"], ["${", "}"],
]);

/** A marker for an action. The character is not allowed in YAML, so no text contains it. */
const MARK = "\u0001";
const MARKED_LINE = new RegExp(`^[ \\t]*(?:${MARK}[ \\t]*)+$`, "gm");

/**
 * Returns the text of a template without its actions: removes lines that consist only of actions, and replaces other
 * actions by a word. Returns null if the text contains no action.
 */
export function withoutActions(text: string): string | null {
  const parts: string[] = [];
  let from = 0;
  for (let next = nextAction(text, 0); next !== null; next = nextAction(text, from)) {
    parts.push(text.slice(from, next.start), MARK);
    from = next.end;
  }
  if (parts.length === 0) return null;
  return [...parts, text.slice(from)].join("").replace(MARKED_LINE, "").replaceAll(MARK, "x");
}

const OPENING = /\$\{\{|\{[{%#]|[%$]\{/g;

/** Returns the first complete action at or after `from`. An action that is never closed ends the search. */
function nextAction(text: string, from: number): { readonly start: number; readonly end: number } | null {
  OPENING.lastIndex = from;
  const opening = OPENING.exec(text);
  if (opening === null) return null;
  const close = ACTIONS.get(opening[0]) ?? "}}";
  const end = text.indexOf(close, opening.index + opening[0].length);
  return end === -1 ? null : { start: opening.index, end: end + close.length };
}
