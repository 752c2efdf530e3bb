import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";
import { launch } from "puppeteer-core";
import { findPackages } from "../../test/programs/packages.ts";
import { runProgram } from "../../test/programs/run-program.ts";

const ROOT = path.join(import.meta.dirname, "../..");
const PICTURE = path.join(import.meta.dirname, "../role-map.png");
/** Wide enough for what is wrong beside the panel. */
const VIEWPORT = { width: 1300, height: 720, deviceScaleFactor: 1.5 } as const;

/** Draws the role map of the example company. Fonts differ between machines, so no check compares the picture. */
export async function drawRoleMap(): Promise<void> {
  const found = await findPackages("browser");
  if ("fault" in found) {
    process.stderr.write(`docs/role-map.png was not drawn: ${found.fault}\n`);
    return;
  }
  const folder = await mkdtemp(path.join(tmpdir(), "ack-role-resolver-picture-"));
  const args = process.getuid?.() === 0 ? ["--no-sandbox"] : [];
  const browser = await launch({ executablePath: found.paths.chromium, args: [...args, "--disable-gpu"] });
  try {
    const file = path.join(folder, "role-map.html");
    const map = ["cli/start.js", "map", "manifests/examples", "--html", file];
    await runProgram(process.execPath, map, { cwd: ROOT });
    const page = await browser.newPage();
    await page.setViewport(VIEWPORT);
    await page.goto(`${pathToFileURL(file).href}#open=cell&open=storefront&open=none`);
    await page.screenshot({ path: PICTURE });
  } finally {
    await browser.close();
    await rm(folder, { recursive: true, force: true });
  }
}
