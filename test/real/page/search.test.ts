import { type Test, test } from "tap";
import type { Browser } from "puppeteer-core";
import { bucketObject } from "../../shared/objects.ts";
import { company, LARGE, namespaceName } from "../../shared/diagnosis/role-map/company.ts";
import { mapped } from "../../shared/diagnosis/role-map/mapped.ts";
import { clickOn, type OpenPage, openBrowser, openMaps, panelText, textsOf } from "./browser.ts";

const { objects, planted } = company(LARGE);
const UNJUDGED = [{ file: "chart/templates/a.yaml", reason: "unrendered", count: 1 }] as const;
const MAP = mapped(objects, { runtime: "extended", unjudged: UNJUDGED });
const HEALTHY = namespaceName(300);
const [CONFLICT = ""] = planted.conflict;

test("the search finds what it promises, and Enter opens it, in a company of 500 namespaces", async (t) => {
  const browser = await openBrowser(t);
  if (browser === null) return;
  await t.test("resources are counted by name, and marked", (tt) => countsNames(tt, browser));
  await t.test("a resource by its namespace and name", (tt) => findsName(tt, browser));
  await t.test("a role that only resources in conflict would have", (tt) => findsConflict(tt, browser));
  await t.test("malformed selectors", (tt) => findsMalformed(tt, browser));
  await t.test("a search without a result says what it takes", (tt) => findsNothing(tt, browser));
  await t.test("Escape and Back go one step back, and then close", (tt) => goesBack(tt, browser));
  await t.test("what was not judged, and what a malformed selector names", (tt) => tellsUnjudged(tt, browser));
});

/** Opens the company, searches for the text, and presses Enter. */
async function searched(t: Test, browser: Browser, text: string): Promise<OpenPage> {
  const opened = await openMaps(t, browser, [MAP]);
  await opened.page.type("input[type=search]", text);
  await opened.page.keyboard.press("Enter");
  return opened;
}

const NONE = ["0 stale annotations", "0 no usable role"];

async function countsNames(t: Test, browser: Browser): Promise<void> {
  const { page } = await searched(t, browser, "bucket-05");
  t.match(await textsOf(page, ".status"), [/^500 resources in 500 namespaces of 10,000 resources/]);
  t.same(await textsOf(page, ".chip"), ["490 resolved", "5 controller's own role", ...NONE, "5 conflict"]);
  await page.type("input[type=search]", ` ${HEALTHY}`);
  t.same(await textsOf(page, ".chip"), ["1 resolved", "0 controller's own role", ...NONE, "0 conflict"]);
  t.match(await textsOf(page, ".status"), [/^1 resource in 1 namespace /]);
  await page.keyboard.press("Enter");
  t.match(await panelText(page), /1 of 20 resources: resolved \(matched by the search and filters\)/);
  t.same(await textsOf(page, ".panel mark"), ["bucket-05,"]);
  t.match(await textsOf(page, ".panel .resources li"), [/^Bucket × 4bucket-05, bucket-00/]);
}

async function findsName(t: Test, browser: Browser): Promise<void> {
  const { page } = await searched(t, browser, `${HEALTHY}/key-04`);
  t.same(await textsOf(page, ".cell"), [`1 resolved ${HEALTHY} Key`], "with the name of the role");
  t.same(await textsOf(page, ".panel mark"), ["key-04,"]);
  t.match(await textsOf(page, ".panel .resources li"), [/^Key × 4key-04/, /^Bucket × 4bucket-00/]);
}

async function findsConflict(t: Test, browser: Browser): Promise<void> {
  const { page } = await searched(t, browser, "role/ack/media");
  t.match(await textsOf(page, ".status"), [/^20 resources in 5 namespaces/]);
  t.match(await textsOf(page, ".card"), [/^5 roles found media [0-9]{12} · Used by no resource now\./]);
  t.match(await panelText(page), /^Who uses this role .*role\/ack\/media/);
  t.match(await panelText(page), /Used by no resource now\. 4 resources would use it, but are in conflict\./);
  t.match(await panelText(page), /Selects 4 resources in 1 namespace, all in conflict/);
  await clickOn(page, ".panel .selector .link", `second-${CONFLICT}`);
  t.match(await panelText(page), /^‹ Back Selector .*Selects 4 resources in 1 namespace, all in conflict/);
  t.same(await textsOf(page, ".totals"), [
    "10,000 resources in 500 namespaces, 505 selectors, 500 roles (495 in use) in 20 accounts",
  ]);
}

async function findsMalformed(t: Test, browser: Browser): Promise<void> {
  const { page } = await searched(t, browser, "broken");
  t.match(await textsOf(page, ".card"), [/^5 malformed selectors broken-team-/]);
  t.match(await panelText(page), /^Selector × broken-team-.*Controllers ignore the selector/);
}

async function findsNothing(t: Test, browser: Browser): Promise<void> {
  const { page, incidents } = await searched(t, browser, "<b>nobody</b>");
  t.same(await textsOf(page, ".nothing"), [
    'No resource matches "<b>nobody</b>". Search takes a namespace, resource, role or selector; several words must '
      + "all match.",
  ]);
  t.same([(await textsOf(page, ".card")).length, await panelText(page)], [0, ""]);
  t.equal(await page.evaluate("document.querySelector('.grid').checkVisibility()"), false);
  await clickOn(page, ".status button", "Show all");
  t.equal(await page.evaluate("document.querySelector('.grid').checkVisibility()"), true);
  t.ok((await textsOf(page, ".row-head")).length > 5);
  t.same(incidents, []);
}

async function goesBack(t: Test, browser: Browser): Promise<void> {
  const { page } = await searched(t, browser, "media");
  const title = async (): Promise<string> => (await textsOf(page, "#panel-title")).join("");
  await clickOn(page, ".panel .selector .link", `second-${CONFLICT}`);
  await clickOn(page, ".panel .users .link", CONFLICT);
  t.equal(await title(), CONFLICT);
  await clickOn(page, ".panel .kicker button", "Back");
  t.equal(await title(), `second-${CONFLICT}`);
  await page.keyboard.press("Escape");
  t.match(await title(), /role\/ack\/media$/);
  t.same(await textsOf(page, ".panel .kicker button"), []);
  await page.keyboard.press("Escape");
  t.equal(await panelText(page), "");
  t.match(await page.evaluate("location.hash"), "q=media", "the search stays");
}

async function tellsUnjudged(t: Test, browser: Browser): Promise<void> {
  const { page } = await searched(t, browser, "chart/");
  t.match(await textsOf(page, ".card"), [
    "1 object not judged chart/templates/a.yaml 1 object in templates that are not rendered",
  ]);
  t.match(await panelText(page), "helm template . | ack-role-resolver lint -");
  const [broken = ""] = planted.malformed;
  const namespace = broken.slice("broken-".length);
  await page.evaluate(`location.hash = "#open=namespace&open=${namespace}"`);
  await page.waitForFunction(`document.querySelector("#panel-title").textContent.includes("${namespace}")`);
  t.match(await panelText(page), /Malformed selector for this namespace .* is not an ARN.* Fix: write "arn:/);
  await clickOn(page, ".panel .reason .link", broken);
  t.match(await panelText(page), "is not an ARN");
}

test("the controller's own role has its account, or how to tell it", async (t) => {
  const browser = await openBrowser(t);
  if (browser === null) return;
  const hash = "#open=cell&open=team-a&open=own";
  const unknown = await openMaps(t, browser, [mapped([bucketObject()])], { hash });
  t.match(await panelText(unknown.page), /Role the controller's own Account unknown: pass --controller-account/);
  t.match(await textsOf(unknown.page, ".column-head.own"), ["Controller's own role account unknown"]);
  const settings = { controllerAccount: "999900001111" };
  const known = await openMaps(t, browser, [mapped([bucketObject()], { settings })], { hash });
  t.match(await panelText(known.page), /Account 999900001111/);
  t.match(await textsOf(known.page, ".column-head.own"), ["Controller's own role 999900001111"]);
  t.notMatch((await textsOf(known.page, "body")).join(""), "default role");
  t.same(await textsOf(known.page, ".finding .path"), [], "`metadata` says nothing");
});
