import { type Test, test } from "tap";
import type { Browser, Page } from "puppeteer-core";
import { bucketObject, namespaceObject, selectorObject } from "../../shared/objects.ts";
import { company, LARGE } from "../../shared/diagnosis/role-map/company.ts";
import { mapped } from "../../shared/diagnosis/role-map/mapped.ts";
import { openBrowser, openMaps, runTexts } from "./browser.ts";

const { objects, planted } = company(LARGE);
const UNJUDGED = Array.from({ length: LARGE.problems }, (_, i) => (
  { file: `overlays/patch-${i}.yaml`, reason: "patch", count: 1 } as const
));
const STALE = { "ack-role-resolver.io/role-arn": "arn:aws:iam::1:role/old" };
const DRIFT = { status: { ackResourceMetadata: { ownerAccountID: "100000000001" } } };

/**
 * Defines `seen(element)`: whether a user who scrolls the page to the element sees it, because nothing hides, cuts or
 * covers its center, and no part of its text is cut. `scrollIntoView` would also scroll what a user cannot.
 */
const SEEN = `window.seen = (element) => {
  scrollBy(0, element.getBoundingClientRect().y - innerHeight / 2);
  const { x, y, width, height } = element.getBoundingClientRect();
  const hit = document.elementFromPoint(x + width / 2, y + height / 2);
  return element.checkVisibility({ opacityProperty: true, visibilityProperty: true }) && width >= 8 && height >= 8
    && hit !== null && element.contains(hit) && element.scrollWidth <= element.clientWidth + 1;
};
window.look = (shape) => shape.querySelector("path").getAttribute("d") + getComputedStyle(shape).fill`;

/** Returns each problem that a card shows, as `STATE NAME`. */
async function seenInCards(page: Page): Promise<string[]> {
  return await runTexts(page, `[...document.querySelectorAll(".card")].flatMap((card) => {
    const shape = card.querySelector("h2 .shape");
    if (shape === null || !seen(shape)) return [];
    return [...card.querySelectorAll(".place .name")].filter(seen)
      .map((name) => shape.classList[1] + " " + name.textContent);
  })`);
}

/** Scrolls through the matrix, and returns each namespace beside whose name is the shape of a state, and each cell. */
async function seenInMatrix(page: Page): Promise<string[]> {
  return [...new Set(await runTexts(page, `(async () => {
    const grid = document.querySelector(".grid");
    const found = [];
    for (let top = 0; top < grid.scrollHeight; top += 300) {
      grid.scrollTop = top;
      await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
      for (const row of grid.querySelectorAll(".grid-row")) {
        const name = row.querySelector(".row-head .name");
        for (const shape of row.querySelectorAll(".row-head .shape, .cell .shape")) {
          const place = shape.closest(".cell") === null ? "row" : "cell";
          if (seen(name) && seen(shape)) found.push(shape.classList[1] + " " + name.textContent + " " + place);
        }
      }
    }
    return found;
  })()`))];
}

const MAP = mapped(objects, { runtime: "extended", unjudged: UNJUDGED });
const PROBLEMS = Object.entries({ ...planted, unjudged: UNJUDGED.map(({ file }) => file) })
  .flatMap(([state, names]) => names.map((name) => `${state} ${name}`)).toSorted();

test("30 problems of six kinds among 10,000 resources are visible without opening a cell", async (t) => {
  const browser = await openBrowser(t);
  if (browser === null) return;
  t.equal(new Set(PROBLEMS).size, 30);
  t.equal(MAP.totals.resources, 10_000);
  for (const [width, hash] of [[1280, ""], [390, ""], [1280, "#group=label:env"]] as const) {
    await t.test(`${width} pixels ${hash}`, (tt) => seesAll(tt, browser, { width, hash }));
  }
});

interface View {
  readonly width: number;
  readonly hash: string;
}

async function seesAll(t: Test, browser: Browser, view: View): Promise<void> {
  const { page } = await openMaps(t, browser, [MAP], view);
  await page.evaluate(SEEN);
  t.same((await seenInCards(page)).toSorted(), PROBLEMS);
  // The files have no row of their own, and a selector marks the namespace for which it is written.
  const inRows = PROBLEMS.filter((one) => !one.startsWith("unjudged"))
    .map((one) => one.replace("malformed broken-", "malformed "));
  const shown = await seenInMatrix(page);
  t.same(shown.filter((one) => one.endsWith(" row")).toSorted(), inRows.map((one) => `${one} row`).toSorted());
  t.equal(await page.evaluate("document.querySelector('.panel').hidden"), true);
}

test("each state has a shape and a color that no resolved one has", async (t) => {
  const browser = await openBrowser(t);
  if (browser === null) return;
  const { page } = await openMaps(t, browser, [MAP]);
  await page.evaluate(SEEN);
  const shapes = ".card h2 .shape, .chip.resolved .shape";
  const looks = await runTexts(page, `[...document.querySelectorAll("${shapes}")].map(look)`);
  const [outlines, fills] = [/^[^r]*/, /rgb.*/].map((part) => looks.map((look) => part.exec(look)?.[0]));
  t.equal(new Set(outlines).size, 7);
  t.equal(fills?.filter((fill) => fill === fills.at(-1)).length, 1, "only the chip has the color of resolved");
});

test("a cell shows the shape of each state that it has, and no equal row hides one", async (t) => {
  const browser = await openBrowser(t);
  if (browser === null) return;
  const namespaces = Array.from({ length: 30 }, (_, i) => `n${String(i).padStart(2, "0")}`);
  const faulty = Array.from({ length: 1_000 }, (_, i) => bucketObject({
    namespace: "n07", name: `b${i}`, annotations: i % 2 === 0 ? STALE : {},
  }, i % 4 === 1 ? DRIFT : {}));
  const buckets = namespaces.flatMap((name) => (name === "n07" ? faulty : [bucketObject({ namespace: name })]));
  const namespace = namespaceObject("n00");
  const map = mapped([namespace, selectorObject("all", { arn: "arn:aws:iam::100000000000:role/x" }), ...buckets]);
  t.match(map.totals.states, { faulty: 250, stale: 500, resolved: 279 });
  const { page } = await openMaps(t, browser, [map], { width: 390, height: 844 });
  await page.evaluate(SEEN);
  t.same((await seenInMatrix(page)).toSorted(), [
    "faulty n07 cell", "faulty n07 row", "resolved n00 cell", "resolved n07 cell", "stale n07 cell", "stale n07 row",
  ]);
});
