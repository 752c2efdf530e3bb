import { test } from "tap";
import type { JsonObject } from "../../../shared/formats/json.ts";
import {
  clusterObject, controllerIdentity, identityObject, roleIdentity, staticIdentity,
} from "../capa-objects.ts";
import { recordedAccounts, secretMetadata } from "../capa-secrets.ts";
import { namespaceObject } from "../objects.ts";
import { type CapaCase, type CapaInput, capaLines, testCases } from "../core/capa-lines.ts";

const NS1 = namespaceObject("ns1", { team: "a" });
const IDENTITIES = [
  NS1, controllerIdentity(), staticIdentity("s"), staticIdentity("t"), roleIdentity("r"), roleIdentity("same"),
  roleIdentity("foreign", "controller", {}, { roleARN: "arn:aws:iam::444455556666:role/x" }),
  roleIdentity("bad", "controller", {}, { roleARN: "bad" }),
];
const bySelector = staticIdentity("sel", { selector: { matchLabels: { team: "b" } } });

function annotated(annotations: JsonObject): JsonObject {
  return { ...clusterObject("c", "role/r"), metadata: { name: "c", namespace: "ns1", annotations } };
}

/** A cluster without a reference, with changes. */
function misplaced(changes: JsonObject): JsonObject {
  return { ...clusterObject("c", null), ...changes };
}

let DEEP: JsonObject = {};
for (let depth = 0; depth < 101; depth++) DEEP = { a: DEEP };

const from = (reference: string | null): CapaInput => ({ old: clusterObject("c", reference), objects: IDENTITIES });

/** A cluster that used the static identity `s`, and the accounts that a sidecar has recorded for Secrets. */
function recorded(accounts: Readonly<Record<string, string>>, more: readonly JsonObject[] = []): CapaInput {
  const objects = [...IDENTITIES, ...recordedAccounts(accounts), ...more];
  return { ...from("static/s"), objects, settings: { identitySecretNamespace: "capa-system" } };
}
const SAME = { "s-creds": "111122223333" };
const OTHER = { "s-creds": "444455556666" };

const CASES: readonly CapaCase[] = [
  ["AC-00", "the kind is not an identity", clusterObject("c", "AWSClusterIdentityIdentity/a"),
    [/^deny AC-00 spec\.identityRef\.kind: "AWSClusterIdentityIdentity" is not the kind of an identity\./]],
  ["AC-00", "the reference is a text", { ...clusterObject("c", null), spec: { identityRef: "r" } },
    [/identityRef: expected an object, not the string "r"\. Set/]],
  ["AC-00", "the reference is empty", { ...clusterObject("c", null), spec: { identityRef: {} } },
    [/identityRef\.kind: the kind of the identity is missing/, /identityRef\.name: the name of the identity is/]],
  ["AC-00", "the fields of the reference are in the wrong case",
    { ...clusterObject("c", null), spec: { identityRef: { Kind: "AWSClusterRoleIdentity", NAME: "r" } } },
    [/^deny AC-00 spec\.identityRef\.Kind: unknown field "Kind"; perhaps kind was meant\. Write kind\.$/,
      /spec\.identityRef\.NAME: unknown field "NAME"; perhaps name was meant/]],
  ["AC-00", "the reference is in the wrong case", misplaced({ spec: { identityref: {} } }),
    [/^deny AC-00 spec\.identityref: unknown field "identityref"; perhaps spec\.identityRef was meant\. Set/]],
  ["AC-00", "the reference is misspelled", misplaced({ spec: { idenityRef: {}, identityReference: {} } }),
    [/spec\.idenityRef: .*perhaps spec\.identityRef/, /spec\.identityReference: .*perhaps spec\.identityRef/]],
  ["AC-00", "the reference is outside of spec", misplaced({ identityRef: {} }),
    [/^deny AC-00 identityRef: unknown field "identityRef"; perhaps spec\.identityRef was meant/]],
  ["AC-00", "the reference is outside of the template", misplaced({ kind: "AWSClusterTemplate",
    spec: { identityRef: {}, template: { spec: {} } } }),
    [/^deny AC-00 spec\.identityRef: .*perhaps spec\.template\.spec\.identityRef was meant/]],
  ["AC-00", "other fields", misplaced({ spec: { region: "eu-west-1", additionalTags: {}, s3Bucket: {} } }), []],
  ["AC-00", "a misspelled reference next to a correct one", { ...clusterObject("c", "role/r"), identityref: {} }, []],
  ["AC-00", "the kind is in the wrong case", clusterObject("c", "awsclusterroleidentity/r"),
    [/"awsclusterroleidentity" is not the kind of an identity; perhaps AWSClusterRoleIdentity was meant/]],
  ["AC-00", "no reference", clusterObject("c", null), []],
  ["AC-01", "a new cluster before its identity", clusterObject("c", "role/none"),
    [/^warn AC-01 spec\.identityRef: AWSClusterRoleIdentity "none" does not exist\. Create/], { objects: IDENTITIES }],
  ["AC-01", "a change to an identity that does not exist", clusterObject("c", "role/none"), [/^deny AC-01 /],
    from("role/r")],
  ["AC-01", "another change of a cluster without its identity", clusterObject("c", "role/none"), [/^warn AC-01 /],
    from("role/none")],
  ["AC-01", "no reference, and no controller identity", clusterObject("c", null),
    [/^warn AC-01 spec\.identityRef: AWSClusterControllerIdentity "default" does not exist\. Create .* default\.$/],
    { objects: [NS1] }],
  ["AC-01", "no reference, and no controller identity in the manifests", clusterObject("c", null), [],
    { objects: IDENTITIES.filter(({ kind }) => kind !== "AWSClusterControllerIdentity"), origin: "file" }],
  ["AC-01", "a source that does not exist", clusterObject("c", "role/x"),
    [/AWSClusterStaticIdentity "y", the source of AWSClusterRoleIdentity "x", does not exist\. .* source/],
    { objects: [NS1, roleIdentity("x", "static/y")] }],
  ["AC-01", "a source that CAPA does not create", clusterObject("c", "role/r"),
    [/^warn AC-01 .*, does not exist\. Create AWSClusterControllerIdentity default\.$/],
    { objects: [NS1, roleIdentity("r")], origin: "file" }],
  ["AC-01", "another name of the controller identity", clusterObject("c", "AWSClusterControllerIdentity/main"),
    [/CAPA uses only .* named "default", not "main"\. Set spec\.identityRef\.name to "default"\.$/],
    { objects: IDENTITIES }],
  ["AC-01", "a source that is another controller identity", clusterObject("c", "role/x"),
    [/named "default", not "main"\. Set spec\.sourceIdentityRef\.name of AWSClusterRoleIdentity x to "default"/],
    { objects: [NS1, roleIdentity("x", "AWSClusterControllerIdentity/main")] }],
  ["AC-01", "an identity that exists", clusterObject("c", "role/r"), [], { objects: IDENTITIES }],
  ["AC-02", "the chain does not allow the namespace", clusterObject("c", "role/x"),
    [/^deny AC-02 spec\.identityRef: .* "y", the source of .* "x", cannot be used in namespace ns1: allowedNamespaces/],
    { objects: [NS1, roleIdentity("x", "static/y"), staticIdentity("y", { list: ["b"] })] }],
  ["AC-02", "a stored cluster that could not use its identity", clusterObject("c", "static/sel"), [/^warn AC-02 /],
    { objects: [NS1, bySelector], old: clusterObject("c", "static/sel") }],
  ["AC-02", "a selector and no Namespace in the input", clusterObject("c", "static/sel"),
    [/^warn AC-02 .*because its labels are unknown/], { objects: [bySelector], origin: "file" }],
  ["AC-02", "a list and no Namespace in the input", clusterObject("c", "static/y"), [/^deny AC-02 /],
    { objects: [staticIdentity("y", { list: ["b"] })], origin: "file" }],
  ["AC-02", "a cycle", clusterObject("c", "role/x"),
    [/^deny AC-02 .*the chain already contains this identity\. Use another identity, or change sourceIdentityRef/],
    { objects: [NS1, roleIdentity("x", "role/x")] }],
  ["AC-02", "a source of an unknown kind", clusterObject("c", "role/x"),
    [/^deny AC-02 .*"AWSUnknownIdentity" "y", .* cannot .* not the kind of an identity\. Use another identity, or /],
    { objects: [NS1, roleIdentity("x", "AWSUnknownIdentity/y")] }],
  ["AC-02", "an unknown kind, which AC-00 reports", clusterObject("c", "AWSUnknownIdentity/y"), [],
    { objects: IDENTITIES }],
  ["AC-02", "a kind that shipped CAPA does not have", clusterObject("c", "AWSServiceAccountIdentity/y"),
    [/^deny AC-02 .*AWSServiceAccountIdentity "y" cannot be used in namespace ns1: shipped CAPA does not/],
    { objects: IDENTITIES }],
  ["AC-02", "allowed", clusterObject("c", "role/r"), [], { objects: IDENTITIES }],
  ["AC-03", "no reference", clusterObject("c", null),
    [/^warn AC-03 spec\.identityRef: identityRef is missing: CAPA uses its own credentials\. Set identityRef/]],
  ["AC-03", "a reference", clusterObject("c", "role/r"), []],
  ["ACK-02", "an annotation that reports another identity",
    annotated({ "ack-role-resolver.io/identity-chain": "AWSClusterRoleIdentity/admin" }),
    [/^warn ACK-02 .*identity-chain\]: .*identity-chain is "AWSClusterRoleIdentity\/admin" but should be "AWSCl/],
    { objects: IDENTITIES }],
  ["ACK-02", "an annotation of an ACK resource", annotated({ "ack-role-resolver.io/selector": "a" }),
    [/^warn ACK-02 .*: ack-role-resolver\.io\/selector is "a" but should be absent\. Remove the annotation/],
    { objects: IDENTITIES }],
  ["ACK-02", "an annotation that the stored object has", annotated({ "ack-role-resolver.io/selector": "a" }), [],
    { objects: IDENTITIES, old: annotated({ "ack-role-resolver.io/selector": "a" }) }],
  ["ACK-02", "the annotations of the webhook", annotated({ "ack-role-resolver.io/outcome": "selected" }), [],
    { objects: IDENTITIES }],
  ["AC-04", "the reference is removed", clusterObject("c", null),
    [/^deny AC-04 .* removed: .* from account 111122223333 to the account of CAPA\. Keep .* --controller-account/],
    from("role/r")],
  ["AC-04", "the reference is replaced by that of the controller", clusterObject("c", "controller"),
    [/identityRef changes: .* to the account of CAPA/], from("role/r")],
  ["AC-04", "the controller is in the same account", clusterObject("c", null), [], { ...from("role/r"),
    settings: { controllerAccount: "111122223333" } }],
  ["AC-04", "a role in another account", clusterObject("c", "role/foreign"),
    [/from account 111122223333 to account 444455556666/], from("role/r")],
  ["AC-04", "a role in the same account", clusterObject("c", "role/same"), [], from("role/r")],
  ["AC-04", "another Secret", clusterObject("c", "static/t"),
    [/^warn AC-04 .* from the account of Secret s-creds to the account of Secret t-creds\. Make sure that/],
    from("static/s")],
  ["AC-04", "a role instead of a Secret, perhaps of the same account", clusterObject("c", "role/r"),
    [/^warn AC-04 .* from the account of Secret s-creds to account 111122223333\. Make sure/], from("static/s")],
  ["AC-04", "the recorded account of a Secret is that of the role", clusterObject("c", "role/r"), [], recorded(SAME)],
  ["AC-04", "the recorded account of a Secret is another one", clusterObject("c", "role/r"),
    [/^deny AC-04 .* from account 444455556666 to account 111122223333\. Keep/], recorded(OTHER)],
  ["AC-04", "only one of two accounts is recorded", clusterObject("c", "static/t"),
    [/^warn AC-04 .* from account 444455556666 to the account of Secret t-creds\. Make sure .*, or use a sidecar/],
    recorded(OTHER)],
  ["AC-04", "the Secret has changed since the record", clusterObject("c", "role/r"),
    [/^warn AC-04 .* from the account of Secret s-creds to/],
    recorded(SAME, [secretMetadata([], { uid: "uid-s-creds", resourceVersion: "8" })])],
  ["AC-04", "the Secret is in a manifest without a version", clusterObject("c", "role/r"), [/^warn AC-04 /],
    recorded(SAME, [secretMetadata([])])],
  ["AC-04", "the recorded Secret does not exist", clusterObject("c", "role/r"), [/^warn AC-04 /],
    { ...recorded(SAME), objects: [...IDENTITIES, ...recordedAccounts(SAME).slice(1)] }],
  ["AC-04", "the namespace of the Secrets is not set", clusterObject("c", "role/r"), [/^warn AC-04 /],
    { ...recorded(SAME), settings: {} }],
  ["AC-04", "the record is not an account", clusterObject("c", "role/r"), [/^warn AC-04 /],
    recorded({ "s-creds": "an account" })],
  ["AC-04", "another kind of the same controller", clusterObject("c", "controller"), [], from(null)],
  ["AC-04", "an identity without an account", clusterObject("c", "role/r"), [], from("role/bad")],
  ["AC-04", "the repair of a cluster whose identity is missing", clusterObject("c", "role/r"), [], from("role/none")],
  ["AC-04", "a waiver", { ...clusterObject("c", null), metadata: { name: "c", namespace: "ns1",
    annotations: { "ack-role-resolver.io/allow": "AC-04" } } }, [/^warn AC-04/], from("role/r")],
  ["AC-08", "too deep", { ...clusterObject("c", null),
    spec: DEEP },
    [/^deny AC-08 .*nested deeper than 100 levels/]],
];

testCases(CASES);

test("AC-04 names an empty Secret and the account of a service account identity, if the account changes", (t) => {
  const options = {
    old: clusterObject("c", "static/s"), settings: { runtime: "extended" as const },
    objects: [NS1, staticIdentity("s", {}, null), identityObject("AWSServiceAccountIdentity", "sa",
      { roleARN: "arn:aws:iam::444455556666:role/x" }, { namespace: "ns1" })],
  };
  t.match(capaLines("AC-04", clusterObject("c", "account/sa"), options),
    [/from the account of Secret "" to account 444455556666/]);
  t.end();
});

test("AC-03 reports the path of the reference in a template", (t) => {
  const template = { ...clusterObject("c", null), kind: "AWSClusterTemplate", spec: {} };
  t.match(capaLines("AC-03", template), [/^warn AC-03 spec\.template\.spec\.identityRef: /]);
  t.end();
});
