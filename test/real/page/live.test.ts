import { test } from "tap";
import type { Page } from "puppeteer-core";
import { startPageServer } from "../../../shared/server/page-server.ts";
import { bucketObject } from "../../shared/objects.ts";
import { mapped } from "../../shared/diagnosis/role-map/mapped.ts";
import { htmlOf, openBrowser, openURL, textsOf } from "./browser.ts";

/** Waits until the page shows the text. */
async function waitFor(page: Page, text: string): Promise<void> {
  await page.waitForFunction(`document.body.innerText.includes(${JSON.stringify(text)})`);
}

test("a served page follows the changes in the same view, and says when it is out of date", async (t) => {
  const browser = await openBrowser(t);
  if (browser === null) return;
  let data = { maps: [mapped([bucketObject()])], stale: null as string | null };
  const server = await startPageServer({
    flag: "--ui", listen: "127.0.0.1:0", page: async () => htmlOf(data), data: async () => JSON.stringify(data),
  });
  let isOpen = true;
  t.teardown(() => (isOpen ? server.close() : undefined));
  const { page, incidents } = await openURL(t, browser, `http://${server.address}/#group=*&q=team`);
  await waitFor(page, "Live, as of");
  t.match(await textsOf(page, ".status"), [/^1 resource in 1 namespace of 1 resource/]);

  data = { maps: [mapped([bucketObject(), bucketObject({ name: "b2" })])], stale: null };
  server.notify();
  await waitFor(page, "2 resources in 1 namespace of 2 resources");
  t.match(await page.evaluate("location.hash"), "q=team", "the filters stay");

  data = { ...data, stale: "the cluster <b>does not</b> answer" };
  server.notify();
  await waitFor(page, "the cluster <b>does not</b> answer");
  t.match(await textsOf(page, ".live.stale"), [/^Stale since /]);
  t.same(incidents, []);

  isOpen = false;
  await server.close();
  await waitFor(page, "the server does not answer");
});
