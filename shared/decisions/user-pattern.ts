/**
 * Returns whether `pattern` matches the whole of `text`. `*` stands for any number of characters, including none. All
 * other characters stand for themselves. Searches each part of the pattern only once, without backtracking, because the
 * leftmost occurrence of a part leaves the most text for the next part.
 */
export function matchesPattern(pattern: string, text: string): boolean {
  const [first = "", ...rest] = pattern.split("*");
  const last = rest.pop();
  if (last === undefined) return text === pattern;
  if (!text.startsWith(first)) return false;
  let from = first.length;
  for (const part of rest) {
    const at = text.indexOf(part, from);
    if (at < 0) return false;
    from = at + part.length;
  }
  return text.length - from >= last.length && text.endsWith(last);
}
