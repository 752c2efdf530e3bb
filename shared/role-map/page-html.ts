import type { RoleMap } from "./role-map.ts";

/** The script and the style of the page, with the SHA-256 of each. */
interface Assets {
  readonly script: string;
  readonly style: string;
  readonly scriptHash: string;
  readonly styleHash: string;
}

/**
 * Returns the page as one document. Its policy allows nothing but its own script and style: no request, no other
 * script, and no markup that a script makes of a text. The maps are data, in which no text ends the element.
 */
export function pageHTML({ script, style, scriptHash, styleHash }: Assets, maps: readonly RoleMap[]): string {
  const policy = [
    "default-src 'none'", `script-src 'sha256-${scriptHash}'`, `style-src 'sha256-${styleHash}'`, "base-uri 'none'",
    "form-action 'none'", "require-trusted-types-for 'script'", "trusted-types 'none'",
  ].join("; ");
  const data = JSON.stringify({ maps }).replaceAll("<", "\\u003c");
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Role map</title>
<style>${style}</style>
</head>
<body>
<noscript>This page needs JavaScript. It makes no requests.</noscript>
<script type="application/json" id="data">${data}</script>
<script>${script}</script>
</body>
</html>
`;
}
