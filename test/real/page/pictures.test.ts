import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { type Test, test } from "tap";
import type { Browser, Page } from "puppeteer-core";
import { OBJECTS } from "../../page/fixture.ts";
import { updatesGolden } from "../../programs/environment.ts";
import { mapped } from "../../shared/diagnosis/role-map/mapped.ts";
import { openBrowser, openMaps, runTexts } from "./browser.ts";

const GOLDEN = path.join(import.meta.dirname, "../../golden/page");
const MAP = mapped(OBJECTS, { unjudged: [{ file: "p.yaml", reason: "patch", count: 1 }] });

interface Look {
  readonly width: number;
  readonly height: number;
  readonly hash?: string;
  readonly scheme?: "light" | "dark";
  readonly isPrinted?: boolean;
}

const CONFLICT = "#open=cell&open=c1&open=none";
const LOOKS = {
  light: { width: 1000, height: 620, hash: CONFLICT },
  dark: { width: 1000, height: 620, hash: CONFLICT, scheme: "dark" },
  phone: { width: 390, height: 1000 },
  print: { width: 700, height: 520, isPrinted: true },
} as const satisfies Readonly<Record<string, Look>>;

/** Opens the page with the font that the setup of the browser installs: others have letters of other widths. */
async function openLook(t: Test, browser: Browser, { scheme = "light", isPrinted, ...look }: Look): Promise<Page> {
  const { page } = await openMaps(t, browser, [MAP], look);
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  await page.evaluate(`{
    const fonts = new CSSStyleSheet();
    fonts.replaceSync("* { font-family: 'DejaVu Sans' !important; }");
    document.adoptedStyleSheets = [fonts];
  }`);
  if (isPrinted === true) {
    await page.emulateMediaType("print");
    await page.evaluate("dispatchEvent(new Event('beforeprint'))");
  }
  await page.evaluate("document.activeElement.blur()");
  return page;
}

/** The side of the squares whose average colors are compared, in pixels: letters differ less than their edges. */
const SIDE = 4;
/** How much a color may differ, of 255. The colors of two states differ by more than 30. */
const TOLERANCE = 12;

/** Returns the places in which two PNG files differ, as `X,Y`, or the sizes if these differ. */
async function differences(browser: Browser, one: Uint8Array, other: Uint8Array): Promise<string[]> {
  const page = await browser.newPage();
  const [first, second] = [one, other].map((bytes) => `data:image/png;base64,${Buffer.from(bytes).toString("base64")}`);
  try {
    return await runTexts(page, `(async () => {
      const pixels = async (url) => {
        const image = await createImageBitmap(await (await fetch(url)).blob());
        const context = new OffscreenCanvas(image.width, image.height).getContext("2d");
        context.drawImage(image, 0, 0);
        return context.getImageData(0, 0, image.width, image.height);
      };
      const [a, b] = [await pixels("${first}"), await pixels("${second}")];
      if (a.width !== b.width || a.height !== b.height) return [[a.width, a.height, b.width, b.height].join(" ")];
      const columns = Math.ceil(a.width / ${SIDE});
      const sums = new Int32Array(columns * Math.ceil(a.height / ${SIDE}) * 4);
      for (let i = 0; i < a.data.length; i++) {
        const [x, y] = [(i >> 2) % a.width, Math.floor((i >> 2) / a.width)];
        sums[(Math.floor(y / ${SIDE}) * columns + Math.floor(x / ${SIDE})) * 4 + i % 4] += a.data[i] - b.data[i];
      }
      const squares = new Set();
      sums.forEach((sum, i) => Math.abs(sum) > ${TOLERANCE} * ${SIDE ** 2} && squares.add(i >> 2));
      return [...squares].map((square) => (square % columns) * ${SIDE} + "," + Math.floor(square / columns) * ${SIDE});
    })()`);
  } finally {
    await page.close();
  }
}

test("the page looks as its pictures: light, dark, on a phone and in print", async (t) => {
  const browser = await openBrowser(t);
  if (browser === null) return;
  for (const [name, look] of Object.entries(LOOKS)) {
    const page = await openLook(t, browser, look);
    const picture = await page.screenshot();
    const file = path.join(GOLDEN, `${name}.png`);
    if (updatesGolden()) writeFileSync(file, picture);
    if (!existsSync(file)) throw new Error(`${file} is missing; run this test with UPDATE_GOLDEN=1`);
    const found = await differences(browser, readFileSync(file), picture);
    const actual = path.join(tmpdir(), `role-map-${name}.png`);
    if (found.length > 0) writeFileSync(actual, picture);
    t.same(found.slice(0, 10), [], `${name}: compare ${file} with ${actual}; if it is right, set UPDATE_GOLDEN=1`);
  }
});

const CHANGES = {
  "the color of a state": ".card.conflict .shape => one.style.fill = 'var(--warn)'",
  "the color of a state in a cell": ".cell .shape.malformed => one.style.fill = 'var(--warn)'",
  "the shape of a state": ".cell .shape.conflict => one.firstChild.setAttribute('d', 'M1 2h14L8 14.5Z')",
  "a place": ".cell .counts => one.style.marginLeft = '2px'",
  "a word": ".kicker => one.textContent = 'How'",
} as const;

test("another color, shape, place or word is another picture", async (t) => {
  const browser = await openBrowser(t);
  if (browser === null) return;
  const page = await openLook(t, browser, LOOKS.light);
  let before = await page.screenshot();
  t.same(await differences(browser, before, await page.screenshot()), []);
  for (const [what, change] of Object.entries(CHANGES)) {
    const [selector, action] = change.split(" => ");
    await page.evaluate(`{ const one = document.querySelector("${selector}"); ${action}; }`);
    const after = await page.screenshot();
    t.ok((await differences(browser, before, after)).length > 0, what);
    before = after;
  }
});
