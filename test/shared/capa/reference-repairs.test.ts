import { test } from "tap";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { clusterObject, controllerIdentity, identityObject, roleIdentity, staticIdentity } from "../capa-objects.ts";
import type { Circumstances } from "../core/findings.ts";
import { repairsOf, type RepairRow } from "../core/repair-rows.ts";
import { namespaceObject } from "../objects.ts";

const DEFAULT = '{"kind":"AWSClusterControllerIdentity","name":"default"}';
const STATIC = '{"kind":"AWSClusterStaticIdentity","name":"s"}';
const IDENTITIES = [namespaceObject("ns1"), controllerIdentity(), staticIdentity("s"), staticIdentity("t")];
const KNOWN: Circumstances = { known: IDENTITIES };
const closed = (...identities: readonly JsonObject[]): Circumstances => ({ known: [...IDENTITIES, ...identities] });
const cluster = (identityRef: unknown): JsonObject => (
  { ...clusterObject("c", null), spec: { identityRef } }
);
const OLD: Circumstances = { ...KNOWN, old: clusterObject("c", "static/s") };
const DENIED: Circumstances = { settings: { checkSeverities: new Map([["AC-05", "deny"]]) } };
const REQUESTER = { username: "jane", groups: [] };

const ROWS: readonly RepairRow[] = [
  ["AC-00", "a text", cluster("s"), [`identityRef=${STATIC}`], KNOWN],
  ["AC-00", "an unknown text", cluster("x"), [], KNOWN],
  ["AC-00", "a list", cluster([JSON.parse(STATIC)]), [`safe identityRef=${STATIC}`], KNOWN],
  ["AC-00", "a list of two", cluster([1, 2]), [], KNOWN],
  ["AC-00", "a list of two instead of the stored reference", cluster([1, 2]), [`identityRef=${STATIC}`], OLD],
  ["AC-00", "a kind with two slips", cluster({ kind: "AWSClusterStaticIdentites", name: "s" }),
    ['kind="AWSClusterStaticIdentity"'], KNOWN],
  ["AC-00", "a plural", cluster({ kind: "AWSClusterStaticIdentities", name: "s" }),
    ['safe kind="AWSClusterStaticIdentity"'], KNOWN],
  ["AC-00", "another kind", cluster({ kind: "Identity", name: "s" }), ['kind="AWSClusterStaticIdentity"'], KNOWN],
  ["AC-00", "no name of the only identity", cluster({ kind: "AWSClusterControllerIdentity" }), ['safe name="default"'],
    KNOWN],
  ["AC-00", "no name", cluster({ kind: "AWSClusterStaticIdentity" }), [], KNOWN],
  ["AC-00", "another field", cluster(undefined), [], KNOWN],
  ["AC-00", "a misspelled field with a text", { ...clusterObject("c", null), spec: { identityref: "s" } }, [], KNOWN],
  ["AC-01", "a misspelled name", clusterObject("c", "static/paymnets"), ['safe name="payments"'],
    closed(staticIdentity("payments"))],
  ["AC-02", "another namespace", clusterObject("c", "static/x"), ['to allow the namespace: x list=["b","ns1"]'],
    closed(staticIdentity("x", { list: ["b"] }))],
  ["AC-02", "no namespace", clusterObject("c", "static/x"),
    ['to allow the namespace: x allowedNamespaces={"list":["ns1"]}'], closed(staticIdentity("x", null))],
  ["AC-02", "the immutable identity", clusterObject("c", null), [],
    { known: [namespaceObject("ns1"), controllerIdentity({ list: ["b"] })] }],
  ["AC-02", "a kind that shipped CAPA lacks", clusterObject("c", "account/sa"), [],
    closed(identityObject("AWSServiceAccountIdentity", "sa", {}, { namespace: "ns1" }))],
  ["AC-02", "the stored identity was allowed", clusterObject("c", "static/x"),
    [`to keep the identity: identityRef=${STATIC}`, 'to allow the namespace: x list=["b","ns1"]'],
    { ...closed(staticIdentity("x", { list: ["b"] })), old: clusterObject("c", "static/s") }],
  ["AC-03", "no reference", clusterObject("c", null), [`if the credentials of CAPA are meant: identityRef=${DEFAULT}`],
    KNOWN],
  ["AC-04", "a new reference", clusterObject("c", "role/r"), ["identityRef removed"],
    { ...closed(roleIdentity("r")), old: clusterObject("c", null) }],
];

for (const [code, what, object, expected, circumstances] of ROWS) {
  test(`${code} proposes ${expected.length === 0 ? "nothing" : expected.join(" or ")}: ${what}`, (t) => {
    t.same(repairsOf(code, object, circumstances), expected);
    t.end();
  });
}

test("AC-05 proposes a Role for a known requester", (t) => {
  const key = JSON.stringify(["AWSClusterStaticIdentity", "", "s"]);
  const access = new Map([[key, "denied"]] as const);
  const object = clusterObject("c", "static/s");
  t.same(repairsOf("AC-05", object, { ...KNOWN, ...DENIED, access }), [], "the requester is unknown");
  const [repair = ""] = repairsOf("AC-05", object, { ...KNOWN, ...DENIED, access, requester: REQUESTER });
  t.match(repair, /^to let "jane" use it: use-s \(object\)=.*"resourceNames":\["s"\].*, use-s \(object\)=.*"jane"/);
  t.end();
});
