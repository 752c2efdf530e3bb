/**
 * Matches a template placeholder in a value that is not rendered: `{{ .Values.x }}` of Helm, `${X}`, `$X` and `$(X)` of
 * envsubst and scripts, and `<account>` of documentation.
 */
const PLACEHOLDER = new RegExp([
  /\{\{[^{}]{0,200}\}\}/, /\$\{[^{}]{0,200}\}/, /\$\([^()]{0,200}\)/, /\$[A-Za-z_]\w{0,200}/, /<[A-Za-z][^<>]{0,200}>/,
].map(({ source }) => source).join("|"));

/** Returns the first placeholder of a template in the text, such as `${AWS_REGION}`. Returns null if none exists. */
export function placeholderIn(text: string): string | null {
  return PLACEHOLDER.exec(text)?.[0] ?? null;
}
