import { IDENTITIES } from "../../../shared/capa/identities.ts";
import { test } from "tap";
import { type Audit, auditObjects } from "../../../shared/diagnosis/audit.ts";
import type { DecisionSettings } from "../../../shared/core/context.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { drain } from "../../../shared/formats/paced.ts";
import {
  clusterObject, CONTROL_PLANE, controllerIdentity, identityObject, ownedBy, roleIdentity, staticIdentity,
} from "../capa-objects.ts";
import { inventoryWith, SETTINGS_BY_DEFAULT } from "../objects.ts";

function audit(objects: readonly JsonObject[], settings: Partial<DecisionSettings> = {}): Audit {
  const all = { ...SETTINGS_BY_DEFAULT, ...settings };
  const inventory = inventoryWith(objects, { runtime: all.runtime });
  return drain(auditObjects({ objects, inventory, origin: "cluster" }, all));
}

/** Returns the findings in the sections of identities: `SECTION INDEX SEVERITY CODE MESSAGE`. */
function lines(...[objects, settings]: Parameters<typeof audit>): string[] {
  const sections = new Set<string>(["unusableIdentities", "openIdentities", "missingSources"]);
  return audit(objects, settings).findings.filter(({ section }) => sections.has(section)).map(
    ({ section, index, code, severity, message }) => `${section} ${index} ${severity} ${code} ${message}`,
  );
}

const LIST = { list: ["ns1"] };
const account = identityObject("AWSServiceAccountIdentity", "sa", { roleARN: "x" }, { namespace: "ns1" });

test("reports identities without allowedNamespaces, which no namespace may use", (t) => {
  const line = "unusableIdentities 0 warn CI-03 allowedNamespaces is";
  t.same(lines([staticIdentity("s", null)]), [`${line} null`]);
  const { summary } = audit([staticIdentity("s", null)]);
  t.match(summary, { unusableIdentities: 1, openIdentities: 0, missingSources: 0, checks: 0 });
  const bySelector = staticIdentity("t", { selector: { matchLabels: { a: "b" } } });
  t.same(lines([staticIdentity("s", LIST), bySelector, account]), []);
  t.end();
});

test("reports a cluster that uses an identity without namespaces, but not an identity that nothing uses", (t) => {
  const closed = staticIdentity("s", { list: [] });
  t.same(audit([closed]).findings, []);
  const { findings } = audit([closed, clusterObject("c", "static/s")]);
  t.match(findings, [{ section: "checks", index: 1, severity: "deny", code: "AC-02" }]);
  t.end();
});

test("reports identities that every namespace may use", (t) => {
  t.same(lines([staticIdentity("s", {})]), ["openIdentities 0 warn CI-04 allowedNamespaces allows every namespace"]);
  t.same(lines([staticIdentity("s", { selector: {} })]), [
    "openIdentities 0 warn CI-02 the selector is empty: shipped CAPA allows every namespace",
  ]);
  t.end();
});

test("denies identities whose source does not exist, which only warns at admission", (t) => {
  const orphan = roleIdentity("r", "static/none", LIST);
  t.same(lines([orphan, roleIdentity("q", "role/r", LIST), account]), [
    'missingSources 0 deny CI-26 AWSClusterStaticIdentity "none" does not exist',
  ]);
  t.same(lines([orphan], { checkSeverities: new Map([["CI-26", "warn"]]) }), [
    'missingSources 0 warn CI-26 AWSClusterStaticIdentity "none" does not exist',
  ]);
  t.same(lines([roleIdentity("r", "other/none", LIST), roleIdentity("self", "role/self", LIST)]), [], "CI-25");
  t.end();
});

test("counts the identities, and the clusters of each identity and of each account", (t) => {
  const controlPlane = { ...clusterObject("cp", "role/a"), apiVersion: `${CONTROL_PLANE}/v1beta2`,
    kind: "AWSManagedControlPlane" };
  const { usage, summary } = audit([
    controllerIdentity(), roleIdentity("a"), staticIdentity("s"), account, { ...clusterObject("t", "role/a"),
      kind: "AWSClusterTemplate" },
    clusterObject("c1", "role/a"), ownedBy("c1", controlPlane), clusterObject("c1", "role/a", "ns2"),
    clusterObject("c2", "static/s"), clusterObject("c3", null), clusterObject("c4", "account/sa"),
    clusterObject("c5", "role/none"), { ...clusterObject("n", null), kind: "ROSANetwork" },
  ]);
  t.match(summary, { identities: 4, clusters: 7 });
  const role = "AWSClusterRoleIdentity";
  t.same(usage, {
    clusters: 7,
    byIdentity: [
      { kind: "AWSClusterControllerIdentity", name: "default", namespace: null, clusters: 2 },
      { kind: role, name: "a", namespace: null, clusters: 2 },
      { kind: role, name: "none", namespace: null, clusters: 1 },
      { kind: "AWSClusterStaticIdentity", name: "s", namespace: null, clusters: 1 },
      { kind: "AWSServiceAccountIdentity", name: "sa", namespace: "ns1", clusters: 1 },
    ],
    byAccount: [
      { account: "account 111122223333", clusters: 2 }, { account: "an unknown account", clusters: 2 },
      { account: "the account of CAPA", clusters: 2 }, { account: "the account of Secret s-creds", clusters: 1 },
    ],
    omittedIdentities: 0,
    omittedAccounts: 0,
  });
  const settings = { controllerAccount: "111122223333" };
  t.match(audit([roleIdentity("a"), clusterObject("c", "role/a"), clusterObject("d", null)], settings).usage, {
    byAccount: [{ account: "account 111122223333", clusters: 2 }],
  });
  t.end();
});

test("lists the 100 identities and accounts with the most clusters, and counts the others", (t) => {
  const objects = Array.from({ length: 150 }, (_, i) => [
    roleIdentity(`r${i}`, "controller", {}, { roleARN: `arn:aws:iam::${100_000_000_000 + i}:role/x` }),
    clusterObject(`c${i}`, `role/r${i}`), ...(i > 100 ? [clusterObject(`d${i}`, `role/r${i}`)] : []),
  ]).flat();
  const { byIdentity, byAccount, omittedIdentities, omittedAccounts } = audit(objects).usage;
  t.same([byIdentity.length, byAccount.length, omittedIdentities, omittedAccounts], [100, 100, 50, 50]);
  t.match(byIdentity[48], { name: "r149", clusters: 2 });
  t.match(byIdentity[49], { name: "r0", clusters: 1 });
  t.end();
});

test("reads each identity a bounded number of times for each cluster", (t) => {
  const [identities, clusters] = [200, 1_000];
  const objects = [
    ...Array.from({ length: identities }, (_, i) => roleIdentity(`r${i}`, i % 8 === 0 ? "static/s" : `role/r${i - 1}`)),
    staticIdentity("s"), ...Array.from({ length: clusters }, (_, i) => clusterObject("same", `role/r${i % identities}`,
      `ns${i}`)),
  ];
  const inventory = inventoryWith(objects);
  let reads = 0;
  const get = inventory.of(IDENTITIES).get.bind(inventory.of(IDENTITIES));
  Object.assign(inventory.of(IDENTITIES), { get: (...args: Parameters<typeof get>) => (reads++, get(...args)) });
  drain(auditObjects({ objects, inventory, origin: "cluster" }, SETTINGS_BY_DEFAULT));
  t.ok(reads < 15 * (identities + clusters), `${reads} reads`);
  t.end();
});
