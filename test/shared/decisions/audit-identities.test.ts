import { test } from "tap";
import { type Audit, auditObjects } from "../../../shared/decisions/audit.ts";
import type { DecisionSettings } from "../../../shared/decisions/context.ts";
import type { JsonObject } from "../../../shared/decisions/kubernetes/json.ts";
import { drain } from "../../../shared/decisions/paced.ts";
import {
  clusterObject, CONTROL_PLANE, controllerIdentity, identityInventory, identityObject, ownedBy, roleIdentity,
  staticIdentity,
} from "./identities/objects.ts";
import { SETTINGS_BY_DEFAULT } from "./objects.ts";

function audit(objects: readonly JsonObject[], settings: Partial<DecisionSettings> = {}): Audit {
  const all = { ...SETTINGS_BY_DEFAULT, ...settings };
  const inventory = identityInventory(objects, { runtime: all.runtime });
  return drain(auditObjects({ objects, inventory, origin: "cluster", nowMs: 0 }, all));
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

test("reports identities that no namespace may use, instead of CI-03", (t) => {
  const reason = "unusableIdentities 0 warn AUD-12 no namespace may use the identity:";
  for (const [allowed, why] of [
    [null, "allowedNamespaces is null"],
    [{ list: [] }, "allowedNamespaces contains no namespace: its list and its selector are empty"],
    [{ selector: { matchLabels: {} } }, "allowedNamespaces contains no namespace: its list and its selector are empty"],
    [{ selector: { matchLabels: { a: "-" } } }, 'allowedNamespaces.selector.matchLabels[a]: "-" is not a valid label '
      + "value: a label value must be empty or consist of letters, digits, '-', '_' and '.', and start and end with a "
      + "letter or digit"],
  ] as const) {
    t.same(lines([staticIdentity("s", allowed)]), [`${reason} ${why}`]);
  }
  const { findings, summary } = audit([staticIdentity("s", null)]);
  t.same(findings.map(({ code }) => code), ["AUD-12"]);
  t.match(summary, { unusableIdentities: 1, openIdentities: 0, missingSources: 0, checks: 0 });
  const bySelector = staticIdentity("t", { selector: { matchLabels: { a: "b" } } });
  t.same(lines([staticIdentity("s", LIST), bySelector, account]), []);
  t.end();
});

test("reports identities that every namespace may use, instead of CI-04", (t) => {
  const line = "openIdentities 0 warn AUD-13 every namespace may use the identity";
  t.same(lines([staticIdentity("s", {})]), [line]);
  t.same(lines([staticIdentity("s", { selector: {} })]), [line], "as shipped CAPA reads it");
  t.same(lines([staticIdentity("s", { selector: {} })], { runtime: "extended" }).length, 1, "AUD-12");
  t.same(audit([staticIdentity("s", {})]).findings.map(({ code }) => code), ["AUD-13"]);
  t.end();
});

test("reports identities whose source does not exist, instead of CI-26", (t) => {
  const orphan = roleIdentity("r", "static/none", LIST);
  t.same(lines([orphan, roleIdentity("q", "role/r", LIST), account]), [
    'missingSources 0 deny AUD-14 AWSClusterStaticIdentity "none" does not exist',
  ]);
  t.notOk(audit([orphan]).findings.some(({ code }) => code === "CI-26"));
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
  const inventory = identityInventory(objects);
  let reads = 0;
  const get = inventory.identities.get.bind(inventory.identities);
  Object.assign(inventory.identities, { get: (...args: Parameters<typeof get>) => (reads++, get(...args)) });
  drain(auditObjects({ objects, inventory, origin: "cluster", nowMs: 0 }, SETTINGS_BY_DEFAULT));
  t.ok(reads < 15 * (identities + clusters), `${reads} reads`);
  t.end();
});
