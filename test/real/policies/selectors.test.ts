import { sample } from "fast-check";
import type { Test } from "tap";
import { iamRoleSelectorCRD } from "../../../manifests/crds.ts";
import type { Runtime } from "../../../shared/core/context.ts";
import { field, type JsonObject, stringAt } from "../../../shared/formats/json.ts";
import { ACK_SELECTOR_CRD } from "../../fixtures/ack-selector-crd.ts";
import { selectorFixtures } from "../../fixtures/selectors/selector-fixtures.ts";
import { ROLE, selectorObject } from "../../shared/objects.ts";
import type { Cluster } from "../apiserver/cluster.ts";
import { onCluster } from "../apiserver/on-cluster.ts";
import {
  coveredChecks, deniedChecks, dryCreate, installPolicies, isDeniedByPolicy, PLAIN_CRD, SELECTORS, webhookDenials,
} from "./installed-policies.ts";
import { objectOf, objectsOf, plain } from "./json.ts";
import { randomSelectors } from "./random-selectors.ts";

const SEED = 20261122;
const MERGE = { headers: { "content-type": "application/merge-patch+json" } };
const SETTINGS = { allowedAccounts: ["111122223333"], controllerRole: "arn:aws:iam::999900001111:role/ack" };

onCluster("the policy of selectors on a real API server, without the webhook", async (t, cluster) => {
  await cluster.installCRDs([PLAIN_CRD]);
  const stored = await storeSelectors(cluster);
  await installPolicies(cluster, { settings: SETTINGS });
  const run = async (name: string, body: (t: Test, cluster: Cluster) => Promise<void>): Promise<void> => {
    await t.test(name, async (tt) => body(tt, cluster));
  };
  await run("denies the same creations as the covered checks of the webhook", agreesOnCreations);
  await run("denies no update that the webhook admits", async (tt) => agreesOnUpdates(tt, cluster, stored));
  await run("admits a fault that the stored selector has", admitsOldFaults);
  await run("denies a change or removal of a role, but not the deletion of the selector", deniesRoleChange);
  await installPolicies(cluster, { runtime: "extended", probe: BY_BAD_EXPRESSION });
  await run("denies the same creations as the covered checks of the webhook with --runtime extended", async (tt) => (
    agreesOnCreations(tt, cluster, { runtime: "extended" })
  ));
  const crds = [["ACK's charts", ACK_SELECTOR_CRD], ["this project", iamRoleSelectorCRD("ack")]] as const;
  for (const [name, crd] of crds) {
    await cluster.installCRDs([crd]);
    await run(`denies each malformed fixture of a covered check with the CRD of ${name}`, agreesOnFixtures);
  }
});

/** Only the policy for `--runtime extended` reads matchExpressions. */
const BY_BAD_EXPRESSION = {
  arn: "arn:aws:iam::111122223333:role/a", namespaceSelector: { names: ["a"] },
  resourceLabelSelector: { matchExpressions: [{ key: "a b", operator: "Exists" }] },
};

/** Stores selectors that have faults. Returns them as the API server stored them. */
async function storeSelectors(cluster: Cluster): Promise<readonly JsonObject[]> {
  const objects = sample(randomSelectors(), { seed: SEED, numRuns: 40 });
  const stored: JsonObject[] = [];
  for (const [i, object] of objects.entries()) {
    const named = { ...object, metadata: { ...objectOf(object["metadata"]), name: `stored-${i}` } };
    const { status, body } = await cluster.request("POST", SELECTORS, named);
    if (status !== 201) throw new Error(`${status}: ${stringAt(body, "message")}`);
    stored.push(objectOf(body));
  }
  return stored;
}

/** IRS-07 needs a stored selector, IRS-24 a controller, and IRS-48 a large selector. IRS-04 needs settings. */
const NEED_MORE: ReadonlySet<string> = new Set(["IRS-07", "IRS-24", "IRS-48"]);

/** A tag key that does not start with the reserved prefix `aws:`. RE2 matches "s" with "ſ" if it ignores the case. */
const RESERVED_LOOKALIKE = selectorObject(
  "lookalike", { arn: ROLE, namespaceSelector: { names: ["a"] } },
  { annotations: { "ack-role-resolver.io/session-tags": "awſ:a=b" } },
);

interface Configured {
  readonly settings?: typeof SETTINGS | undefined;
  readonly runtime?: Runtime;
}

async function agreesOnCreations(
  t: Test, cluster: Cluster, { settings, runtime = "ack" }: Configured = { settings: SETTINGS },
): Promise<void> {
  const covered = coveredChecks(settings, runtime);
  const found = new Set<string>();
  for (const object of [RESERVED_LOOKALIKE, ...sample(randomSelectors(runtime), { seed: SEED + 1, numRuns: 200 })]) {
    const response = await dryCreate(cluster, object);
    const expected = webhookDenials({ object, settings, runtime }).filter((id) => covered.has(id));
    t.same(deniedChecks(response), expected, `${JSON.stringify(object)}: ${stringAt(response.body, "message") ?? ""}`);
    t.equal(response.status, expected.length === 0 ? 201 : 422);
    for (const id of expected) found.add(id);
  }
  const needMore = new Set([...NEED_MORE, ...(settings === undefined ? ["IRS-04"] : [])]);
  const missing = [...covered].filter((id) => id.startsWith("IRS-") && !needMore.has(id) && !found.has(id));
  t.same(missing, [], "the selectors have faults of each check");
}

async function agreesOnUpdates(t: Test, cluster: Cluster, stored: readonly JsonObject[]): Promise<void> {
  const changes = sample(randomSelectors(), { seed: SEED + 2, numRuns: 120 });
  let denied = 0;
  for (const [i, change] of changes.entries()) {
    const old = stored[i % stored.length] ?? {};
    const object = updated(old, change, i % 3 > 0);
    const name = stringAt(old, "metadata", "name") ?? "";
    const response = await cluster.request("PUT", `${SELECTORS}/${name}?dryRun=All`, object);
    const ofWebhook = new Set(webhookDenials({ object, old, settings: SETTINGS }));
    const ofPolicy = deniedChecks(response);
    const extra = ofPolicy.filter((id) => !ofWebhook.has(id));
    t.same(extra, [], `${JSON.stringify([old, object])}: ${stringAt(response.body, "message") ?? ""}`);
    t.equal(response.status, ofPolicy.length === 0 ? 200 : 422);
    denied += ofPolicy.length > 0 ? 1 : 0;
  }
  t.ok(denied > 20, `the policy denies some updates: ${denied}`);
}

/** Returns the stored selector with the spec and the annotations of another selector. Can keep the role. */
function updated(old: JsonObject, change: JsonObject, keepsRole: boolean): JsonObject {
  const arn = field(field(old, "spec"), "arn");
  const spec = { ...objectOf(change["spec"]), ...(keepsRole && { arn }) };
  const annotations = field(field(change, "metadata"), "annotations");
  return plain({ ...old, spec, metadata: { ...objectOf(old["metadata"]), annotations } });
}

const LABEL = { labels: { changed: "yes" } };

function patched(item: JsonObject): JsonObject {
  return { ...item, metadata: { ...objectOf(item["metadata"]), ...LABEL } };
}

async function admitsOldFaults(t: Test, cluster: Cluster): Promise<void> {
  const { body } = await cluster.request("GET", SELECTORS);
  for (const item of objectsOf(field(body, "items"))) {
    const name = stringAt(item, "metadata", "name") ?? "";
    const change = { metadata: LABEL };
    const response = await cluster.request("PATCH", `${SELECTORS}/${name}?dryRun=All`, change, MERGE);
    // The webhook denies every change of a selector that exceeds a limit.
    const expected = webhookDenials({ object: patched(item), old: item }).includes("IRS-48") ? ["IRS-48"] : [];
    t.same(deniedChecks(response), expected, `${JSON.stringify(item)}: ${stringAt(response.body, "message") ?? ""}`);
  }
}

async function deniesRoleChange(t: Test, cluster: Cluster): Promise<void> {
  const path = `${SELECTORS}/role`;
  const spec = { arn: ROLE, namespaceSelector: { names: ["a"] } };
  const object = selectorObject("role", spec, { finalizers: ["example.com/f"] });
  const created = await cluster.request("POST", SELECTORS, object);
  t.equal(created.status, 201, stringAt(created.body, "message") ?? "");
  const other = { spec: { arn: "arn:aws:iam::111122223333:role/other" } };
  for (const [change, denied] of [
    [other, ["IRS-07"]], [{ spec: null }, ["IRS-01", "IRS-07", "IRS-15"]],
    [{ spec: { arn: null } }, ["IRS-01", "IRS-07"]],
    [{ spec: { namespaceSelector: { names: ["b"] } } }, []],
  ] as const) {
    const response = await cluster.request("PATCH", `${path}?dryRun=All`, change, MERGE);
    t.same(deniedChecks(response), denied, `${JSON.stringify(change)}: ${stringAt(response.body, "message") ?? ""}`);
  }
  t.equal((await cluster.request("DELETE", path)).status, 200);
  const changed = await cluster.request("PATCH", `${path}?dryRun=All`, other, MERGE);
  t.same(deniedChecks(changed), ["IRS-07"], "a selector that is being deleted");
  t.equal((await cluster.request("PATCH", path, { metadata: { finalizers: [] } }, MERGE)).status, 200);
  t.equal((await cluster.request("GET", path)).status, 404, "the last finalizer can be removed");
}

/** The API server validates the schema, the names and the rules of the CRD before it evaluates the policy. */
const OF_API_SERVER = /IAMRoleSelector|strict decoding error|name or generateName is required/;

async function agreesOnFixtures(t: Test, cluster: Cluster): Promise<void> {
  const covered = coveredChecks();
  let denied = 0;
  for (const { name, object, expected, set } of selectorFixtures("malformed", "good", "warned")) {
    const response = await dryCreate(cluster, object);
    const message = `${set}: ${name}: ${response.status} ${stringAt(response.body, "message") ?? ""}`;
    const code = set === "malformed" ? expected?.code ?? "" : "";
    if (isDeniedByPolicy(response)) {
      t.ok(deniedChecks(response).includes(code), message);
      denied++;
    } else if (response.status === 201) {
      t.notOk(covered.has(code), message);
    } else {
      t.match(stringAt(response.body, "message"), OF_API_SERVER);
    }
  }
  t.ok(denied > 30, `the policy denies ${denied} fixtures`);
}
