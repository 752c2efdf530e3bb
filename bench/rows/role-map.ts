import { mkdirSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";
import { type Browser, launch } from "puppeteer-core";
import { findPackages } from "../../test/programs/packages.ts";
import { company, LARGE } from "../../test/shared/diagnosis/role-map/company.ts";
import { atMost, type Figure, quantile } from "../figure.ts";
import { builtCommand, runTimeMs } from "../programs.ts";
import type { Row } from "../row.ts";
import type { Stage } from "../stage.ts";

const THROTTLE = 4;
/** As many files as a repository with a file for each namespace. */
const OBJECTS_PER_FILE = 22;
const SCROLL_STEPS = 60;

/** Writes the map of 500 namespaces, 20 accounts and 10,000 resources. Returns its file and the time in ms. */
async function writeMap(stage: Stage): Promise<{ readonly file: string; readonly ms: number }> {
  const [folder, file] = [stage.file("company"), stage.file("role-map.html")];
  const { objects } = company({ ...LARGE, namespaces: stage.size(LARGE.namespaces, 40), problems: 0 });
  mkdirSync(folder, { recursive: true });
  for (let i = 0; i < objects.length; i += OBJECTS_PER_FILE) {
    const items = objects.slice(i, i + OBJECTS_PER_FILE);
    writeFileSync(path.join(folder, `${i}.json`), JSON.stringify({ apiVersion: "v1", kind: "List", items }));
  }
  const argv = [await builtCommand(stage), "map", folder, "--runtime", "extended", "--html", file];
  return { file, ms: await runTimeMs(argv) };
}

/** Scrolls through the rows and the columns, and reports how long each frame took, in ms. */
const SCROLL = `new Promise((resolve) => {
  const grid = document.querySelector(".grid");
  const frames = [];
  let last = performance.now();
  const next = (now) => {
    frames.push(now - last);
    last = now;
    if (frames.length > ${SCROLL_STEPS}) return resolve(frames.slice(1));
    grid.scrollTop += 300;
    grid.scrollLeft += 20;
    requestAnimationFrame(next);
  };
  requestAnimationFrame(next);
})`;

interface Visit {
  readonly readyMs: number;
  readonly frameMs: number;
}

async function visit(browser: Browser, file: string, throttle: number): Promise<Visit> {
  const page = await browser.newPage();
  await page.setViewport({ width: 1280, height: 900 });
  await page.emulateCPUThrottling(throttle);
  await page.goto(`${pathToFileURL(file).href}#rows=all&group=*`);
  const readyMs = Number(await page.evaluate("performance.getEntriesByName('ready')[0].startTime"));
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the result of SCROLL
  const frames = await page.evaluate(SCROLL) as number[];
  await page.close();
  return { readyMs, frameMs: quantile(frames.toSorted((a, b) => a - b), 0.95) };
}

async function visits(stage: Stage, browser: Browser, file: string, throttle: number): Promise<Visit[]> {
  const all: Visit[] = [];
  for (let round = 0; round < stage.size(5, 1); round++) {
    // oxlint-disable-next-line no-await-in-loop -- one at a time: concurrent measurements affect each other
    all.push(await visit(browser, file, throttle));
  }
  return all;
}

function readyOf({ readyMs }: Visit): number {
  return readyMs;
}

export const ROLE_MAP_ROW: Row = {
  name: "role-map", title: "the page of 500 namespaces, 20 accounts and 10,000 resources, in Chromium",
  async measure(stage): Promise<readonly Figure[]> {
    const found = await findPackages("browser");
    if ("fault" in found) throw new Error(found.fault);
    const { file, ms } = await writeMap(stage);
    const args = process.getuid?.() === 0 ? ["--no-sandbox"] : [];
    const browser = await launch({ executablePath: found.paths.chromium, args });
    stage.teardown(() => browser.close());
    await visit(browser, file, 1);
    const [full, slow] = [await visits(stage, browser, file, 1), await visits(stage, browser, file, THROTTLE)];
    return [
      { name: "time until the page can be used", unit: "ms", ours: full.map(readyOf), goal: atMost(1_000, "value") },
      { name: "the same, processor 4 times slower", unit: "ms", ours: slow.map(readyOf), goal: atMost(3_000, "value") },
      { name: "a frame while scrolling, p95", unit: "ms", ours: full.map(({ frameMs }) => frameMs),
        goal: atMost(34, "value") },
      { name: "such a frame, processor 4 times slower", unit: "ms", ours: slow.map(({ frameMs }) => frameMs) },
      { name: "size of the file", unit: "MB", ours: [statSync(file).size / 1e6], goal: atMost(1.5, "value") },
      { name: "time of the command", unit: "ms", ours: [ms] },
    ];
  },
};
