import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { test } from "tap";
import type { Page } from "puppeteer-core";
import { OBJECTS } from "../../page/fixture.ts";
import { mapped } from "../../shared/diagnosis/role-map/mapped.ts";
import { clickOn, openBrowser, openMaps, panelText, runTexts, textsOf } from "./browser.ts";

const AXE = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const MAP = mapped(OBJECTS, { before: OBJECTS.slice(1), unjudged: [{ file: "p.yaml", reason: "patch", count: 1 }] });
const PANEL = "#tab=map&open=cell&open=c1&open=none";

/** Returns what axe finds, as `RULE: ELEMENT`. */
async function violations(page: Page): Promise<string[]> {
  await page.evaluate(AXE);
  return await runTexts(page, `axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) => (
    violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => id + ": " + html.slice(0, 200)))
  ))`);
}

test("axe finds no violation, in each view, size and color scheme", async (t) => {
  const browser = await openBrowser(t);
  if (browser === null) return;
  const views = [
    "#tab=map", "#tab=change", PANEL, "#tab=map&open=role&open=arn:aws:iam::111122223333:role/first",
    "#tab=map&open=selector&open=broken", "#tab=change&open=move&open=0", "#tab=map&q=d1/b2&open=namespace&open=d1",
    "#tab=map&q=nothing&open=unjudged&open=0",
  ];
  for (const hash of views) {
    for (const [width, scheme] of [[1280, "light"], [1280, "dark"], [390, "light"]] as const) {
      const { page } = await openMaps(t, browser, [MAP], { width, hash });
      await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
      t.same(await violations(page), [], `${hash} ${width} ${scheme}`);
    }
  }
});

test("everything works with the keyboard", async (t) => {
  const browser = await openBrowser(t);
  if (browser === null) return;
  const { page, incidents } = await openMaps(t, browser, [MAP], { hash: "#tab=map" });
  const active = async (): Promise<string> => String(await page.evaluate("document.activeElement.textContent"));
  await page.keyboard.press("/");
  await page.keyboard.type("c1");
  t.match(await page.evaluate("location.hash"), "q=c1");
  await page.focus(".grid");
  for (const key of ["ArrowDown", "ArrowRight"] as const) await page.keyboard.press(key);
  t.match(await active(), /1 conflict/);
  await page.keyboard.press("Enter");
  t.match(await panelText(page), "Cannot determine");
  t.equal(await active(), "c1", "the focus is on the title of the panel");
  await page.keyboard.press("Escape");
  t.equal(await panelText(page), "");
  t.match(await active(), /1 conflict/, "the focus is on the cell again");
  await page.keyboard.press("End");
  t.match(await active(), /Queue/);
  t.same(incidents, []);
});

test("a phone shows the matrix, and the panel below it", async (t) => {
  const browser = await openBrowser(t);
  if (browser === null) return;
  const { page } = await openMaps(t, browser, [MAP], { width: 390, height: 844, hash: "#tab=map" });
  t.ok(await page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "no horizontal scrolling");
  await clickOn(page, "[role=gridcell]", "conflict");
  const top = Number(await page.evaluate("document.querySelector('.panel').getBoundingClientRect().top"));
  t.ok(top > 100 && top < 500, `the panel starts at ${top}`);
});

test("a grid shows on which sides there are more columns, and no name is cut without a sign", async (t) => {
  const browser = await openBrowser(t);
  if (browser === null) return;
  const { page } = await openMaps(t, browser, [MAP], { width: 390, hash: "#tab=map" });
  const hasEdges = async (...sides: readonly string[]): Promise<unknown> => await page.waitForFunction(`
    ["::before", "::after"].filter((side) => (
      getComputedStyle(document.querySelector(".frame"), side).content !== "none"
    )).join(" ") === "${sides.join(" ")}"
  `);
  await hasEdges("::after");
  await page.evaluate("document.querySelector('.grid').scrollLeft = 100");
  await hasEdges("::before", "::after");
  await page.evaluate("document.querySelector('.grid').scrollLeft = 1e6");
  await hasEdges("::before");
  await page.setViewport({ width: 1280, height: 900 });
  await hasEdges();
  const names = [".row-head .name", ".cell .role", ".cell .kinds"];
  const cut = await runTexts(page, `${JSON.stringify(names)}.map((name) => {
    const { textOverflow, webkitLineClamp } = getComputedStyle(document.querySelector(name));
    return textOverflow === "ellipsis" || webkitLineClamp === "2";
  })`);
  t.same(cut, names.map(() => "true"));
});

test("a drawing leads from a namespace by selectors to roles, and its parts are links", async (t) => {
  const browser = await openBrowser(t);
  if (browser === null) return;
  const { page, incidents } = await openMaps(t, browser, [MAP], { hash: PANEL });
  t.same(await textsOf(page, ".paths > .node"), ["c1"]);
  t.same(await textsOf(page, ".paths li"), [
    "selector buckets : conflict, role buckets 444455556666", "selector first : conflict, role first 111122223333",
  ]);
  await clickOn(page, ".paths button", "444455556666");
  t.match(await panelText(page), /Who uses this role × arn:aws:iam::444455556666:role\/buckets/);
  await page.keyboard.press("Escape");
  await clickOn(page, ".paths button", "first");
  t.match(await panelText(page), /Selector × first/);
  await page.evaluate("location.hash = '#tab=map&open=namespace&open=d1'");
  await page.waitForFunction("document.querySelector('#panel-title').textContent === 'd1'");
  t.same(await textsOf(page, ".paths li"), [
    "selector broken : malformed selector, role x", "no selector : controller's own role, role controller's own role",
  ]);
  t.same(incidents, []);
});

test("the printed page has a table of what the filters select, what is wrong first", async (t) => {
  const browser = await openBrowser(t);
  if (browser === null) return;
  const { page } = await openMaps(t, browser, [MAP], { hash: "#tab=map" });
  // The browser prints what the document contains during this event.
  await page.evaluate(`addEventListener("beforeprint", () => {
    const rows = [...document.querySelectorAll(".print tbody tr")];
    window.printed = rows.map(({ cells }) => [...cells].slice(0, 4).map((cell) => cell.textContent).join(" | "));
  })`);
  const pdf = await page.pdf();
  t.ok(pdf.length > 10_000);
  t.match(await page.evaluate("printed"), [
    "c1 | 1 × Bucket | conflict | No role", "d1 | 2 × Bucket | controller's own role | Controller's own role",
    "a1 | 1 × Bucket | resolved | 111122223333",
  ]);
  t.equal((await page.$$(".print table")).length, 0, "nothing of it stays in the page");
});

test("the panel moves nothing, the search is above the lists, and accounts are whole", async (t) => {
  const browser = await openBrowser(t);
  if (browser === null) return;
  for (const width of [1280, 390]) {
    const { page } = await openMaps(t, browser, [MAP], { width, hash: "#tab=map" });
    const tops = async (): Promise<string[]> => await runTexts(page, `[...document.querySelectorAll(
      "input[type=search], .card, .grid, .grid-row"
    )].map((one) => JSON.stringify(one.getBoundingClientRect()))`);
    const before = await tops();
    await clickOn(page, ".card button", "c1");
    t.match(await panelText(page), "Cannot determine");
    t.same(await tops(), before, `${width} pixels`);
    t.ok(await page.evaluate(`document.querySelector("input[type=search]").getBoundingClientRect().bottom
      < document.querySelector(".card").getBoundingClientRect().top`));
    t.same(await runTexts(page, `[...document.querySelectorAll(".column-head .name, .column-head .hint")]
      .filter((one) => one.scrollWidth > one.clientWidth && one.clientWidth > 0).map((one) => one.textContent)`), []);
  }
});
