import { test } from "tap";
import type { Page } from "puppeteer-core";
import { accountOf, company, LARGE, namespaceName } from "../../shared/role-map/company.ts";
import { mapped } from "../../shared/role-map/mapped.ts";
import { bucketObject, selectorObject } from "../../shared/objects.ts";
import { setTimeLimit } from "../time-limit.ts";
import { clickOn, openBrowser, openMaps, panelText, textsOf } from "./browser.ts";

const LIMIT_MS = 3 * 60_000;
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
  setTimeLimit(t, LIMIT_MS);
  const browser = await openBrowser(t);
  if (browser === null) return;

  await t.test("which role and account does the queue of a namespace get, and why", async (tt) => {
    const { page, incidents } = await openMaps(tt, browser, [MAP]);
    await search(page, HEALTHY);
    await clickOn(page, "[role=gridcell]", "20");
    const text = await panelText(page);
    for (const part of [
      HEALTHY, ROLE, ACCOUNT, `IAMRoleSelector ${HEALTHY} selects the resource`,
      `spec.namespaceSelector.names namespace ${HEALTHY}`, "queue-01",
    ]) tt.ok(text.includes(part), part);
    tt.same(incidents, []);
  });

  await t.test("who uses a role, and by which selector", async (tt) => {
    const { page } = await openMaps(tt, browser, [MAP]);
    await search(page, ROLE);
    await clickOn(page, ".column-head button", ACCOUNT);
    await clickOn(page, ".column-head .role", HEALTHY);
    const text = await panelText(page);
    tt.match(text, "Who uses this role");
    tt.ok(text.includes(`Selector ${HEALTHY}`));
    tt.match(text, "Used in 1 namespace");
  });

  await t.test("where is something wrong", async (tt) => {
    const { page } = await openMaps(tt, browser, [MAP]);
    const cards = await textsOf(page, ".card");
    const wrong = { ...planted, unjudged: UNJUDGED.map(({ file }) => file) };
    for (const [state, names] of Object.entries(wrong)) {
      const own = (await textsOf(page, `.card.${state}`)).join(" ");
      for (const name of names) tt.ok(own.includes(name), `${state} of ${name} is visible without a click`);
    }
    tt.equal(cards.length, 6);
    await clickOn(page, ".card.conflict button", planted.conflict[0] ?? "");
    tt.match(await panelText(page), "Cannot determine which IAMRoleSelector to use");
    tt.match(await panelText(page), "Fix: restrict or delete selectors until one selects it");
  });

  await t.test("filters are in the URL, and a link shows the same", async (tt) => {
    const { page } = await openMaps(tt, browser, [MAP]);
    await search(page, "team-01");
    await clickOn(page, ".chip", "resolved");
    await page.select("select[aria-label='Group by']", "label:env");
    const [status, hash] = [await textsOf(page, ".status"), await page.evaluate("location.hash") as string];
    tt.match(hash, "q=team-01");
    const again = await openMaps(tt, browser, [MAP], { hash });
    tt.same(await textsOf(again.page, ".status"), status);
    tt.match(await textsOf(again.page, ".group-head"), [/^env: dev/, /^env: prod/]);
  });

  await t.test("only the visible part of the matrix is in the document", async (tt) => {
    const { page } = await openMaps(tt, browser, [MAP], { hash: "#rows=all&group=*" });
    tt.ok((await page.$$("[role=row]")).length < 60);
    await page.evaluate("document.querySelector('.grid').scrollTop = 1e6");
    await page.waitForFunction("document.querySelector('.grid').textContent.includes('team-166-staging')");
    tt.equal(await page.$eval(".grid", (grid) => grid.getAttribute("aria-rowcount")), "501");
  });
});

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
