import { writeFile } from "node:fs/promises";
import path from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";
import { type Browser, launch, type Page } from "puppeteer-core";
import type { Test } from "tap";
import { pageAssets } from "../../../build/role-map/page-assets.ts";
import { type PageData, pageHTML } from "../../../shared/diagnosis/role-map/page-html.ts";
import type { RoleMap } from "../../../shared/diagnosis/role-map/role-map.ts";
import { readEnvironment } from "../../programs/environment.ts";
import { findPackages } from "../../programs/packages.ts";
import { setTimeLimit } from "../time-limit.ts";

const ASSETS = await pageAssets();

/** A page in the browser, and everything that it must not do. */
export interface OpenPage {
  readonly page: Page;
  /** The URLs of requests, except that of the page, and violations of its policy, errors and dialogs. */
  readonly incidents: string[];
}

/** Returns a browser, which the test closes. Skips the test and returns null without one, unless `CI=true`. */
export async function openBrowser(t: Test): Promise<Browser | null> {
  setTimeLimit(t);
  const found = await findPackages("browser");
  if ("fault" in found) {
    if (readEnvironment().ci) throw new Error(found.fault);
    t.plan(0, found.fault);
    return null;
  }
  // Chromium has no sandbox for root. The settings of a machine for fonts would change the pictures.
  const args = process.getuid?.() === 0 ? ["--no-sandbox"] : [];
  const same = ["--disable-gpu", "--font-render-hinting=none", "--disable-lcd-text", "--force-color-profile=srgb"];
  const browser = await launch({ executablePath: found.paths.chromium, args: [...args, ...same] });
  t.teardown(() => browser.close());
  return browser;
}

interface Options {
  readonly width?: number;
  readonly height?: number;
  readonly hash?: string;
}

/** Writes the page of the maps and opens it as a file. */
export async function openMaps(
  t: Test, browser: Browser, maps: readonly RoleMap[], { hash = "", ...options }: Options = {},
): Promise<OpenPage> {
  const file = path.join(t.testdir({}), "role-map.html");
  await writeFile(file, htmlOf({ maps }));
  return await openURL(t, browser, pathToFileURL(file).href + hash, options);
}

export function htmlOf(data: PageData): string {
  return pageHTML(ASSETS, data);
}

/** Opens a URL, and records the requests to other places. */
export async function openURL(
  t: Test, browser: Browser, url: string, { width = 1280, height = 900 }: Options = {},
): Promise<OpenPage> {
  const page = await browser.newPage();
  t.teardown(() => page.close());
  await page.setViewport({ width, height });
  const incidents: string[] = [];
  const [base = ""] = url.split("#");
  page.on("request", (request) => {
    if (!request.url().startsWith(base)) incidents.push(`request ${request.url()}`);
  });
  page.on("pageerror", (error) => incidents.push(`error ${String(error)}`));
  page.on("console", (message) => incidents.push(`console ${message.text()}`));
  page.on("dialog", (dialog) => {
    incidents.push(`dialog ${dialog.message()}`);
    void dialog.dismiss();
  });
  await page.evaluateOnNewDocument(`addEventListener("securitypolicyviolation", (event) => {
    console.error("policy " + event.violatedDirective + " " + event.blockedURI);
  });`);
  await page.goto(url);
  return { page, incidents };
}

/** Returns the result of code that runs in the page, as a text for each item. */
export async function runTexts(page: Page, code: string): Promise<string[]> {
  return [await page.evaluate(code)].flat().map(String);
}

/** Returns the visible text of the elements that the selector matches, with single spaces. */
export async function textsOf(page: Page, selector: string): Promise<string[]> {
  const texts = await runTexts(page, `[...document.querySelectorAll(${JSON.stringify(selector)})].map((one) => (
    one.innerText
  ))`);
  return texts.map((text) => text.replaceAll(/\s+/g, " ").trim());
}

/** Returns the visible text of the panel. */
export async function panelText(page: Page): Promise<string> {
  return (await textsOf(page, ".panel:not([hidden])")).join("");
}

/** Clicks the first element that the selector matches and whose text contains the words. */
export async function clickOn(page: Page, selector: string, words: string): Promise<void> {
  await page.evaluate(`{
    const all = [...document.querySelectorAll(${JSON.stringify(selector)})];
    const found = all.find((one) => one.textContent.includes(${JSON.stringify(words)}));
    if (found === undefined) throw new Error("no such element");
    found.click();
  }`);
}
