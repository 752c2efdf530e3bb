import { type Test, test } from "tap";
import type { Browser, Page } from "puppeteer-core";
import { accountOf, company, LARGE, namespaceName } from "../../shared/diagnosis/role-map/company.ts";
import { mapped } from "../../shared/diagnosis/role-map/mapped.ts";
import { bucketObject, selectorObject } from "../../shared/objects.ts";
import { clickOn, openBrowser, openMaps, panelText, textsOf } from "./browser.ts";

const { objects, planted } = company(LARGE);
const UNJUDGED = Array.from({ length: LARGE.problems }, (_, i) => (
  { file: `overlays/patch-${i}.yaml`, reason: "patch", count: 1 } as const
));
const MAP = mapped(objects, { runtime: "extended", unjudged: UNJUDGED });
const HEALTHY = namespaceName(300);
const ACCOUNT = accountOf(300, LARGE.accounts);
const ROLE = `arn:aws:iam::${ACCOUNT}:role/ack/${HEALTHY}`;

async function search(page: Page, text: string): Promise<void> {
  await page.focus("input[type=search]");
  await page.type("input[type=search]", text);
}

test("readers find the answers in a company of 500 namespaces, with at most three clicks", async (t) => {
  const browser = await openBrowser(t);
  if (browser === null) return;
  await t.test("which role and account does a queue get, and why", (tt) => findsReason(tt, browser));
  await t.test("who uses a role, and by which selector", (tt) => findsUsers(tt, browser));
  await t.test("where is something wrong", (tt) => findsProblems(tt, browser));
  await t.test("filters are in the URL, and a link shows the same", (tt) => sharesView(tt, browser));
  await t.test("only the visible part of the matrix is in the document", (tt) => showsPart(tt, browser));
});

async function findsReason(t: Test, browser: Browser): Promise<void> {
  const { page, incidents } = await openMaps(t, browser, [MAP]);
  await search(page, HEALTHY);
  await clickOn(page, "[role=gridcell]", "20");
  const text = await panelText(page);
  for (const part of [
    HEALTHY, ROLE, `Why: account ${ACCOUNT}`, `IAMRoleSelector ${HEALTHY} selects the resource`,
    `spec.namespaceSelector.names namespace ${HEALTHY}`, "queue-01",
  ]) t.ok(text.includes(part), part);
  t.same(incidents, []);
}

async function findsUsers(t: Test, browser: Browser): Promise<void> {
  const { page } = await openMaps(t, browser, [MAP]);
  await search(page, ROLE);
  await clickOn(page, ".column-head button", ACCOUNT);
  await clickOn(page, ".column-head .role", HEALTHY);
  const text = await panelText(page);
  t.match(text, "Who uses this role");
  t.ok(text.includes(`Selector ${HEALTHY}`));
  t.match(text, "Used by 20 resources.");
  t.match(text, "Selects 20 resources in 1 namespace");
}

async function findsProblems(t: Test, browser: Browser): Promise<void> {
  const { page } = await openMaps(t, browser, [MAP]);
  const wrong = { ...planted, unjudged: UNJUDGED.map(({ file }) => file) };
  for (const [state, names] of Object.entries(wrong)) {
    const own = (await textsOf(page, `.card.${state}`)).join(" ");
    for (const name of names) t.ok(own.includes(name), `${state} of ${name} is visible without a click`);
  }
  t.equal((await textsOf(page, ".card")).length, Object.keys(wrong).length);
  await clickOn(page, ".card.conflict button", planted.conflict[0] ?? "");
  const text = await panelText(page);
  t.match(text, "Cannot determine which IAMRoleSelector to use");
  t.match(text, "Fix: restrict or delete selectors until only one selects the resource");
  t.ok(text.includes("role/ack/media"), "the role of each selector in the conflict");
}

async function sharesView(t: Test, browser: Browser): Promise<void> {
  const { page } = await openMaps(t, browser, [MAP]);
  await search(page, "team-01");
  await clickOn(page, ".chip", "resolved");
  await page.select("select[aria-label='Group by']", "label:env");
  const [status, hash] = [await textsOf(page, ".status"), String(await page.evaluate("location.hash"))];
  t.match(hash, "q=team-01");
  const again = await openMaps(t, browser, [MAP], { hash });
  t.same(await textsOf(again.page, ".status"), status);
  t.match(await textsOf(again.page, ".group-head"), [/^env: dev/, /^env: prod/]);
}

async function showsPart(t: Test, browser: Browser): Promise<void> {
  const { page } = await openMaps(t, browser, [MAP], { hash: "#rows=all&group=*" });
  t.ok((await page.$$("[role=row]")).length < 60);
  await page.evaluate("document.querySelector('.grid').scrollTop = 1e6");
  await page.waitForFunction(`document.querySelector(".grid").textContent.includes("${namespaceName(499)}")`);
  t.equal(await page.evaluate("document.querySelector('.grid').getAttribute('aria-rowcount')"), "501");
}

test("a change has before and after side by side", async (t) => {
  const browser = await openBrowser(t);
  if (browser === null) return;
  const [before, after] = ["111122223333", "444455556666"].map((account) => [
    selectorObject("a", { arn: `arn:aws:iam::${account}:role/a`, namespaceSelector: { names: ["team-a"] } }),
    bucketObject(),
  ]);
  const { page, incidents } = await openMaps(t, browser, [mapped(after ?? [], { before: before ?? [] })]);
  t.same(await textsOf(page, ".grid [role=gridcell]"), ["111122223333 a", "444455556666 a"]);
  await clickOn(page, ".row-head", "team-a");
  t.match(await textsOf(page, ".columns .column"), [/^Before .*111122223333/, /^After .*444455556666/]);
  await clickOn(page, ".tabs button", "Map after it");
  t.match(await textsOf(page, ".grid [role=columnheader]"), ["Namespace", /444455556666/]);
  t.same(incidents, []);
});
