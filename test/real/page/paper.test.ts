import { test } from "tap";
import type { Page } from "puppeteer-core";
import { OBJECTS } from "../../page/fixture.ts";
import { selectorObject } from "../../shared/objects.ts";
import { mapped } from "../../shared/diagnosis/role-map/mapped.ts";
import { openBrowser, openMaps, runTexts, textsOf } from "./browser.ts";

/** More faulty selectors than a card shows before its button is pressed. Their names are as wide as the card. */
const FAULTY = Array.from({ length: 9 }, (_, i) => (
  selectorObject(`the-selector-of-the-payments-team-in-production-${i}`, {
    arn: `not-an-arn-${i}`, namespaceSelector: { names: ["d1"] },
  })
));
/** Before the change, the selector `second` does not exist. */
const MAP = mapped([...OBJECTS, ...FAULTY], { before: OBJECTS.toSpliced(6, 1) });

const CELLS = "[role=gridcell], [role=rowheader], [role=columnheader], th, td, .place";

/** Returns the texts of the cells that match, or have a part, whose text does not fit. */
async function clipped(page: Page): Promise<string[]> {
  return await runTexts(page, `[...document.querySelectorAll("${CELLS}")].filter((cell) => (
    [cell, ...cell.querySelectorAll(":not(.spoken)")].some((one) => getComputedStyle(one).overflowX !== "visible"
      && (one.scrollWidth > one.clientWidth || one.scrollHeight > one.clientHeight))
  )).map((cell) => cell.textContent)`);
}

/** Shows what the browser prints. */
async function print(page: Page): Promise<void> {
  await page.emulateMediaType("print");
  await page.evaluate("dispatchEvent(new Event('beforeprint'))");
}

test("no cell of a table clips its text, on a screen, a phone and paper", async (t) => {
  const browser = await openBrowser(t);
  if (browser === null) return;
  for (const width of [1280, 390]) {
    for (const hash of ["#tab=map", "#tab=change"]) {
      const { page } = await openMaps(t, browser, [MAP], { width, hash });
      t.ok((await page.$$(CELLS)).length > 5);
      t.same(await clipped(page), [], `${hash} ${width}`);
      const cell = "document.querySelector('[role=gridcell]')";
      await page.evaluate(`${cell}.style.cssText += "overflow: hidden; width: 20px"`);
      t.same(await clipped(page), await runTexts(page, `${cell}.textContent`), "a cell that is too narrow");
      await print(page);
      t.ok((await page.$$("td")).length > 4);
      t.same((await clipped(page)).slice(1), [], `${hash} ${width} on paper`);
    }
  }
});

test("paper has what the buttons show on the screen", async (t) => {
  const browser = await openBrowser(t);
  if (browser === null) return;
  const { page: screen } = await openMaps(t, browser, [MAP], { hash: "#tab=map" });
  t.match(await textsOf(screen, ".more"), [/^and [0-9]+ more$/]);
  await screen.evaluate("for (const one of document.querySelectorAll('.more')) one.click()");
  const shown = await textsOf(screen, ".card li");
  t.ok(shown.length > FAULTY.length);
  const { page: paper } = await openMaps(t, browser, [MAP], { width: 500, hash: "#tab=map" });
  await print(paper);
  t.same(await textsOf(paper, ".card li"), shown);
  t.same(await textsOf(paper, ".more"), []);
  const cut = await runTexts(paper, `[...document.querySelectorAll(".card .place *")].filter((one) => (
    one.scrollWidth > one.clientWidth || one.scrollHeight > one.clientHeight
  )).map((one) => one.textContent)`);
  t.same(cut, [], "no text is cut off");
});
