import { cpSync, globSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";

const ROOT = path.join(import.meta.dirname, "../..");

/** What the programs consist of, and the tests that ask them. */
const COPIED = [
  "action", "build", "build.ts", "certs", "cli", "docs", "manifests", "package-lock.json", "package.json", "page",
  "prepare.js", "shared", "sidecar", "webhook", "test/house", "test/programs", "test/cli/run-command.ts",
  "test/webhook/reviews.ts", "test/webhook/webhook-under-test.ts",
] as const;

/** Copies the sources into a folder of this project, in which the packages of node_modules are found. */
export function copySources(folder: string): void {
  for (const name of COPIED) cpSync(path.join(ROOT, name), path.join(folder, name), { recursive: true });
  // The page runs in a browser, so it has other types.
  const include = COPIED.filter((name) => !/^(page|test)/.test(name));
  const tsconfig = { extends: path.join(ROOT, "tsconfig.json"), include };
  writeFileSync(path.join(folder, "tsconfig.json"), JSON.stringify(tsconfig));
}

/** Deletes folders and the lines that name what is in them. Returns the number of these lines, by file. */
export function detach(root: string, folders: readonly string[]): ReadonlyMap<string, number> {
  for (const folder of folders) rmSync(path.join(root, folder), { recursive: true });
  const programs = "{action,build,certs,cli,docs,manifests,shared,sidecar,webhook}";
  const files = globSync(`{*.ts,${programs}/**/*.ts}`, { cwd: root });
  const touched = files.map((file): [string, number] => {
    const text = readFileSync(path.join(root, file), "utf8");
    const removed = withoutImports(text, (specifier) => {
      const target = path.join(path.dirname(file), specifier);
      return specifier.startsWith(".") && folders.some((folder) => `${target}/`.startsWith(`${folder}/`));
    });
    if (removed.lines === 0) return [file, 0];
    writeFileSync(path.join(root, file), removed.text);
    return [file, removed.lines];
  });
  return new Map(touched.filter(([, lines]) => lines > 0).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

interface Removed {
  readonly text: string;
  readonly lines: number;
}

const IMPORT = /^import (?:type )?(?:\{([^}]*)\} from )?"([^"]+)";\n/gm;

/** Returns the text without some imports and without the list elements and calls that are what they import. */
function withoutImports(text: string, isGone: (specifier: string) => boolean): Removed {
  const names: string[] = [];
  let lines = 0;
  const rest = text.replaceAll(IMPORT, (whole, list: string | undefined, specifier: string) => {
    if (!isGone(specifier)) return whole;
    const locals = (list ?? "").split(",").map((name) => name.trim().replace(/^(type )?(\w+ as )?/, ""));
    names.push(...locals.filter((name) => name !== ""));
    lines += whole.split("\n").length - 1;
    return "";
  });
  const shortened = rest.split("\n").flatMap((line) => {
    const without = names.reduce(withoutName, line);
    if (without === line) return [line];
    lines += 1;
    return without.trim() === "" ? [] : [without];
  });
  return { text: shortened.join("\n"), lines };
}

/** Returns the line without a name that is an element of a list, or a call that is a statement of its own. */
function withoutName(line: string, name: string): string {
  if (new RegExp(`^\\s*(?:await )?${name}\\(.*\\);$`).test(line)) return "";
  return line.replace(new RegExp(`(?<=^\\s*|[[,]\\s*)(?:\\.\\.\\.)?\\b${name}\\b(?:,\\s?|(?=\\s*[\\]]|$))`), "");
}
