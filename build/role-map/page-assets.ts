import { createHash } from "node:crypto";
import path from "node:path";
import type { Assets } from "../../shared/diagnosis/role-map/page-html.ts";

const PAGE = path.join(import.meta.dirname, "../../page");

/** Bundles the page. A build replaces this function by its result, so a release does not contain esbuild. */
export async function pageAssets(): Promise<Assets> {
  const { build } = await import("esbuild");
  const { outputFiles } = await build({
    entryPoints: { script: path.join(PAGE, "main.ts"), style: path.join(PAGE, "style.css") },
    bundle: true, write: false, outdir: PAGE, format: "iife", minify: true, charset: "utf8", legalComments: "none",
    target: ["chrome120", "firefox121", "safari17"], logLevel: "warning", tsconfigRaw: {},
  });
  const textOf = (extension: string): string => (
    outputFiles.find((file) => file.path.endsWith(extension))?.text.trim() ?? ""
  );
  const [script, style] = [textOf(".js"), textOf(".css")];
  return { script, style, scriptHash: hashOf(script), styleHash: hashOf(style) };
}

function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("base64");
}
