import { RESOURCES } from "../../shared/ack/resources.ts";
import { field, stringAt } from "../../shared/formats/json.ts";
import { bodyText, httpKubernetesAPI } from "../../shared/api/api.ts";
import { ClusterSource } from "../../shared/sources/cluster-source.ts";

/**
 * Reads the cluster from the fake API server, then prints the time and peak memory as JSON. The mode `sync` loads an
 * inventory, and `read` only reads the bytes.
 */

const [mode = "", port = ""] = process.argv.slice(2);
const api = httpKubernetesAPI(() => Promise.resolve({ server: `http://127.0.0.1:${port}`, options: {} }));

async function sync(): Promise<void> {
  const source = new ClusterSource({ runtime: "ack", api, resources: { extraGroups: [] } });
  const start = performance.now();
  await source.start();
  const { inventory } = source;
  const isEmpty = inventory.of(RESOURCES).size === 0;
  if (isEmpty || source.status.fault !== null) throw new Error("the inventory is incomplete");
  report(start);
  await source.stop();
}

async function readAll(): Promise<void> {
  const start = performance.now();
  const definitions = await readCollection("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", true);
  const groups = definitions.map((item) => stringAt(item, "spec", "group") ?? "");
  const paths = [
    "/apis/services.k8s.aws/v1alpha1/iamroleselectors", "/api/v1/namespaces",
    ...groups.map((group) => `/apis/${group}/v1alpha1/things`),
  ];
  // oxlint-disable-next-line no-await-in-loop -- one page at a time, as in a real list
  for (const path of paths) await readCollection(path, false);
  report(start);
}

async function readCollection(path: string, isParsed: boolean): Promise<unknown[]> {
  let items: unknown[] = [];
  let query = "";
  do {
    // oxlint-disable-next-line no-await-in-loop -- each page names the next one
    const response = await api.request({ path: `${path}?limit=500${query}`, signal: new AbortController().signal });
    // oxlint-disable-next-line no-await-in-loop -- each page names the next one
    const text = await bodyText(response);
    const page: unknown = isParsed ? JSON.parse(text) : null;
    const listed = field(page, "items");
    if (Array.isArray(listed)) items = listed;
    const next = /"continue":"(\d+)"/.exec(text.slice(0, 200))?.[1];
    query = next === undefined ? "" : `&continue=${next}`;
  } while (query !== "");
  return items;
}

function report(start: number): void {
  const { maxRSS } = process.resourceUsage();
  const cost = { ms: performance.now() - start, peakMB: maxRSS / 1024 };
  process.stdout.write(`${JSON.stringify(cost)}\n`);
}

await (mode === "sync" ? sync() : readAll());
