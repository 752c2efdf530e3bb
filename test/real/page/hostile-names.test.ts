import { test } from "tap";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { bucketObject, namespaceObject, selectorObject } from "../../shared/objects.ts";
import { mapped } from "../../shared/diagnosis/role-map/mapped.ts";
import { openBrowser, openMaps, panelText, textsOf } from "./browser.ts";

const SCRIPT = "</script><script>alert('planted')</script><img src=x onerror=alert(1)>";
const RTL = "\u202Eevil\u2066";
const ARABIC = "\u0645\u0631\u062D\u0628\u0627";
const LONG = "x".repeat(10_000);

/** Objects in which everything that a user can write is hostile. */
function hostile(): JsonObject[] {
  const texts = [SCRIPT, RTL, ARABIC, LONG, "__proto__", "javascript:alert(2)"];
  return texts.flatMap((text) => [
    namespaceObject(text, { [text]: text, team: text }),
    selectorObject(text, {
      arn: `arn:aws:iam::111122223333:role/${text}`, namespaceSelector: { names: [text] },
      resourceLabelSelector: { matchLabels: { [text]: text } },
    }, { annotations: { "ack-role-resolver.io/session-name": text } }),
    { ...bucketObject({ name: text, namespace: text, labels: { [text]: text } }), kind: text },
    bucketObject({ name: text, namespace: text, annotations: { "ack-role-resolver.io/role-arn": text } }),
  ]);
}

test("hostile names are text, and the page makes no request and violates no policy", async (t) => {
  const browser = await openBrowser(t);
  if (browser === null) return;
  const objects = hostile();
  const unjudged = [{ file: SCRIPT, reason: "patch", count: 1 } as const];
  const maps = [SCRIPT, RTL].map((root) => mapped(objects, { root, unjudged, before: objects.slice(4) }));
  for (const tab of ["map", "change"]) {
    const { page, incidents } = await openMaps(t, browser, maps, {
      hash: `#tab=${tab}&open=namespace&open=${encodeURIComponent(SCRIPT)}`,
    });
    const text = (await textsOf(page, "body")).join("");
    t.ok(text.includes("<script>alert('planted')"), "the name is visible as text");
    t.ok(text.includes(String.raw`\u202eevil`), "marks that change the direction are visible");
    t.notMatch(text, /\u202E/);
    t.equal((await page.$$("img")).length, 0);
    t.equal((await page.$$("script")).length, 2);
    t.ok(await page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "a long name does not widen it");
    t.equal(await page.evaluate("[...document.querySelectorAll('.name')].every((e) => e.tagName === 'BDI')"), true);
    t.ok((await panelText(page)).length > 0);
    t.same(incidents, []);
  }
});

test("the policy of the page stops scripts, styles, markup and requests that are not its own", async (t) => {
  const browser = await openBrowser(t);
  if (browser === null) return;
  const { page, incidents } = await openMaps(t, browser, [mapped([bucketObject()])]);
  const attempts = [
    "document.body.append(Object.assign(document.createElement('style'), { textContent: 'body { color: red }' }))",
    "document.body.setAttribute('style', 'color: red')",
    "fetch('http://127.0.0.1:9/').catch(() => 0)",
    "document.body.append(Object.assign(document.createElement('img'), { src: 'http://127.0.0.1:9/x' }))",
    "try { document.body.innerHTML = '<b>' } catch (error) { console.log(error.name) }",
    "try { document.body.append(Object.assign(document.createElement('script'), { text: 'alert(1)' })) } "
      + "catch (error) { console.log(error.name) }",
  ];
  for (const attempt of attempts) {
    const before = incidents.length;
    await page.evaluate(`{ ${attempt}; 0 }`);
    await page.evaluate("new Promise(requestAnimationFrame)");
    t.ok(incidents.slice(before).length > 0, attempt);
  }
  t.notMatch(incidents.join("\n"), "dialog");
  t.equal(await page.evaluate("getComputedStyle(document.body).color === 'rgb(255, 0, 0)'"), false);
});

test("a map of nothing, of no name, of no selector and of too many kinds says what it shows", async (t) => {
  const browser = await openBrowser(t);
  if (browser === null) return;
  const empty = await openMaps(t, browser, [mapped([])]);
  t.match((await textsOf(empty.page, "body")).join(""), /0 resources in 0 namespaces.*Nothing is wrong/);
  const nameless = { ...bucketObject(), metadata: { namespace: "team-a" } };
  const one = await openMaps(t, browser, [mapped([nameless])], { hash: "#open=cell&open=team-a&open=own" });
  t.match(await panelText(one.page), "(no name)");
  const kinds = Array.from({ length: 5_000 }, (_, i) => ({ ...bucketObject(), kind: `Kind${i}` }));
  const many = await openMaps(t, browser, [mapped(kinds, { isAudited: false })]);
  t.match(await textsOf(many.page, ".omitted"), [/^The map leaves out 4900 resources/]);
  const bare = await openMaps(t, browser, [mapped([bucketObject()])]);
  const text = (await textsOf(bare.page, "body")).join("");
  t.match(text, /1 resource in 1 namespace, 0 selectors.*1 resource with the controller's own role team-a/);
  t.same([empty, one, many, bare].flatMap(({ incidents }) => incidents), []);
});
