import { writeFile } from "node:fs/promises";
import { ResolverError } from "../../shared/formats/errors.ts";
import { countOf, printable } from "../../shared/formats/text.ts";
import { pageHTML } from "../../shared/diagnosis/role-map/page-html.ts";
import { type RoleMap, STATES } from "../../shared/diagnosis/role-map/role-map.ts";
import type { IO } from "../io.ts";

/**
 * Writes the page of the maps to the file, or to standard output if the file is `-`.
 * @throws ResolverError ERR_CONFIG_INVALID if the file cannot be written.
 */
export async function writePage(maps: readonly RoleMap[], file: string, io: Pick<IO, "stdout">): Promise<void> {
  // A chunk of its own, which commands without a page do not load.
  const { pageAssets } = await import("../../build/role-map/page-assets.ts");
  const html = pageHTML(await pageAssets(), { maps });
  if (file === "-") {
    // As bytes, because the styles of the page contain texts that look like commands of a CI runner.
    io.stdout.write(Buffer.from(html));
    return;
  }
  try {
    await writeFile(file, html);
  } catch (error) {
    const reason = error instanceof Error && "code" in error ? String(error.code) : String(error);
    const message = `--html: cannot write ${printable(file)} (${reason}); create its folder, or pass another file`;
    throw new ResolverError("ERR_CONFIG_INVALID", message, { cause: error });
  }
}

/** Returns `FILE: 10 resources in 6 namespaces; 1 conflict, 2 default`. */
export function mapSummary({ root, totals }: RoleMap, file: string): string {
  const { resources, namespaces, states } = totals;
  const wrong = STATES.filter((state) => state !== "resolved" && states[state] > 0);
  const counts = wrong.length === 0 ? "nothing is wrong" : wrong.map((state) => `${states[state]} ${state}`).join(", ");
  const size = `${countOf(resources, "resource")} in ${countOf(namespaces, "namespace")}`;
  return printable(`${[file, root].filter((part) => part !== null).join(" ")}: ${size}; ${counts}`);
}
