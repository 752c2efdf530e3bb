import { withoutCommands } from "../../formats/text.ts";
import type { RoleMap } from "./role-map.ts";

/** The script and the style of the page, with the SHA-256 of each. */
export interface Assets {
  readonly script: string;
  readonly style: string;
  readonly scriptHash: string;
  readonly styleHash: string;
}

/** What the page shows. */
export interface PageData {
  readonly maps: readonly RoleMap[];
  /** Only in a page that a server keeps up to date: why the data may be out of date, or null. */
  readonly stale?: string | null;
}

/**
 * Returns the page as one document. Its policy allows nothing but its own script and style: no other script, no
 * markup that a script makes of a text, and no request, unless a server keeps the page up to date. The maps are data,
 * in which no text ends the element.
 */
export function pageHTML({ script, style, scriptHash, styleHash }: Assets, data: PageData): string {
  const policy = [
    "default-src 'none'", `script-src 'sha256-${scriptHash}'`, `style-src 'sha256-${styleHash}'`, "base-uri 'none'",
    ...(data.stale === undefined ? [] : ["connect-src 'self'"]), "form-action 'none'",
    "require-trusted-types-for 'script'", "trusted-types 'none'",
  ].join("; ");
  const json = withoutCommands(JSON.stringify(data)).replaceAll("<", "\\u003c");
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
<script type="application/json" id="data">${json}</script>
<script>${script}</script>
</body>
</html>
`;
}
