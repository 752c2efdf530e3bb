import { REFERRER_KINDS } from "../../../../shared/contract/capa-kinds.ts";
import {
  allowing, type Change, collection, CONTROLLER, CONTROLLERS, create, identity, LIST, patch, referrer, refTo, remove,
  role, ROLES, specOf, STATICS,
} from "./objects.ts";

/**
 * A change that shipped CAPA admits, and that the webhook denies or warns about. `fact` quotes the behavior of shipped
 * CAPA. The pattern matches the code, the problem and the remedy.
 */
interface FactCase {
  readonly fact: string;
  readonly change: Change;
  readonly verdict: "denied" | "warned" | "rejected by the schema";
  readonly message: RegExp;
}

const KINDS = REFERRER_KINDS.map(({ kind }) => kind);
const AWS_CLUSTERS = collection("AWSCluster");
const V1BETA1 = { apiVersion: "infrastructure.cluster.x-k8s.io/v1beta1" };
const lastApplied = (spec: object): object => ({
  annotations: { "kubectl.kubernetes.io/last-applied-configuration": JSON.stringify({ spec }) },
});

function rows(
  fact: string, ...cases: readonly (readonly [Change, FactCase["verdict"], RegExp])[]
): readonly FactCase[] {
  return cases.map(([change, verdict, message]) => ({ fact, change, verdict, message }));
}

/** Every fact about admission, in the order of the list of measured facts. Each change is a dry run. */
export const FACTS: readonly FactCase[] = [
  ...rows(
    "removing identityRef is allowed, and moves the cluster to the controller identity",
    ...KINDS.map((kind) => [
      patch(`${collection(kind)}/used`, { spec: specOf(kind, null) }), "denied",
      /AC-04 .*identityRef is removed: the cluster moves from account 111122223333 to the account of CAPA\. Keep ident/,
    ] as const),
    [
      patch(`${AWS_CLUSTERS}/used`, { spec: { identityRef: CONTROLLER } }), "denied",
      /AC-04 .*identityRef changes: .* to the account of CAPA\. Keep identityRef/,
    ],
    [
      patch(`${AWS_CLUSTERS}/used`, { spec: { identityRef: refTo("other-account") } }), "denied",
      /AC-04 .*from account 111122223333 to account 444455556666\. Keep identityRef/,
    ],
  ),
  ...rows(
    "ROSANetwork and ROSARoleConfig without a reference run on the controller's credentials, with no namespace check",
    ...["ROSANetwork", "ROSARoleConfig"].map((kind) => [
      create(collection(kind), referrer(kind, "new")), "warned",
      /AC-03 .*identityRef is missing: CAPA uses its own credentials\. Set identityRef/,
    ] as const),
  ),
  ...rows(
    "the groups are infrastructure and controlplane; identity schemas are the same in both versions",
    ...KINDS.map((kind) => [
      create(collection(kind), referrer(kind, "new", { kind: "AWSClusterIdentityIdentity", name: "a" })), "denied",
      /AC-00 .*"AWSClusterIdentityIdentity" is not the kind of an identity\. Set identityRef/,
    ] as const),
    [
      create(collection("AWSCluster", "team-a", "v1beta1"),
        { ...referrer("AWSCluster", "new", { kind: "X", name: "a" }), ...V1BETA1 }),
      "denied", /AC-00 .*"X" is not the kind of an identity\. Set identityRef/,
    ],
    [
      create(ROLES.replace("v1beta2", "v1beta1"),
        { ...role("new", { roleARN: "x" }), ...V1BETA1 }),
      "denied", /CI-20 .*"x" is not an ARN\. Write the role's ARN/,
    ],
  ),
  ...rows(
    "the namespace of the object is checked only when the cluster is reconciled",
    ...["AWSCluster", "ROSANetwork"].map((kind) => [
      create(collection(kind, "team-b"), referrer(kind, "new", refTo("used"))), "denied",
      /AC-02 .*cannot be used in namespace team-b: .*list does not contain the namespace\. Use an identity that allows/,
    ] as const),
  ),
  ...rows(
    "roleARN and secretRef may be left out: the defaulter writes \"\"; an empty secretRef can never be set later",
    [create(ROLES, role("new", { roleARN: "" })), "denied", /CI-20 .*the role is missing\. Write the role's ARN/],
    [create(ROLES, role("new", { roleARN: undefined })), "denied", /CI-20 .*the role is missing/],
    [
      create(STATICS, identity("Static", "new", { secretRef: "", allowedNamespaces: LIST })), "denied",
      /CI-11 .*secretRef is missing\. Set secretRef to the name of a Secret/,
    ],
    [
      patch(`${STATICS}/without-secret`, { spec: { secretRef: "creds" } }), "denied",
      /CI-11 .*secretRef changes from "" to "creds"\. To use another Secret, create another/,
    ],
  ),
  ...rows(
    "{list: null} means every namespace, also with the selector that CAPA adds; an empty matchLabels flips",
    [create(ROLES, allowing({ list: null })), "warned", /CI-04 .*allows every namespace CI-04 fix: list/],
    [create(ROLES, allowing({ list: null, selector: {} })), "warned", /CI-02 .*allows every namespace CI-02 fix: /],
    [create(ROLES, allowing({ selector: {} })), "warned", /CI-02 .*allows every namespace CI-02 fix: /],
    [create(ROLES, allowing({ selector: { matchExpressions: [] } })), "warned", /CI-02 .*clusterctl move CI-02 fix: /],
    [create(ROLES, allowing({ selector: { matchLabels: {} } })), "warned", /CI-02 .*clusterctl move CI-02 fix: /],
  ),
  ...rows(
    "a misspelled key is pruned, which widens the rule to every namespace",
    [
      create(ROLES, allowing({}, lastApplied({ allowedNamespaces: { namespaces: ["x"] } }))), "denied",
      /CI-09 .*"namespaces" was pruned by the API server from the applied manifest.*Use only/,
    ],
    [create(ROLES, allowing(["test"])), "rejected by the schema", /spec\.allowedNamespaces/],
    [create(ROLES, allowing("test")), "rejected by the schema", /spec\.allowedNamespaces/],
  ),
  ...rows(
    "DoesNotExist selects each existing namespace without the label, and no other namespace",
    [
      create(ROLES, allowing({ selector: { matchExpressions: [{ key: "team", operator: "DoesNotExist" }] } })),
      "warned",
      /CI-08 .*DoesNotExist selects every namespace without label "team" CI-08 fix: select the namespaces by a label/,
    ],
  ),
  ...rows(
    "a chain may have 8 roles, and not 9",
    [
      create(ROLES, role("chain-9", { sourceIdentityRef: refTo("chain-8") })), "denied",
      /CI-25 .*the chain has more than 8 roles\. Set sourceIdentityRef/,
    ],
  ),
  ...rows(
    "a selector that does not convert is an error at each use",
    [
      create(ROLES, allowing({ selector: { matchExpressions: [{ key: "a", operator: "Is", values: ["b"] }] } })),
      "denied", /CI-06 .*"Is" is not a valid operator.*Use the Kubernetes syntax/,
    ],
    [
      create(AWS_CLUSTERS, referrer("AWSCluster", "new", { kind: "AWSClusterStaticIdentity", name: "broken" })),
      "denied", /AC-02 .*"broken" cannot be used in namespace team-a: .*matchLabels\[-a\].*Use an identity/,
    ],
  ),
  ...rows(
    "the credentials of a source are frozen: after they expire, each call fails, and no error is reported",
    [
      create(ROLES, role("new", { sourceIdentityRef: refTo("used") })), "warned",
      /CI-28 .*whose session shipped CAPA does not renew CI-28 fix: set durationSeconds/,
    ],
  ),
  ...rows(
    "a cycle of sourceIdentityRef stops the process of CAPA",
    [
      create(ROLES, role("new", { sourceIdentityRef: refTo("new") })), "denied",
      /CI-25 .*the sources form a cycle: "new" -> "new"\. Set sourceIdentityRef/,
    ],
    [
      patch(`${ROLES}/chain-1`, { spec: { sourceIdentityRef: refTo("chain-2") } }), "denied",
      /CI-25 .*the sources form a cycle: "chain-1" -> "chain-2" -> "chain-1"\. Set sourceIdentityRef/,
    ],
  ),
  ...rows(
    "PrincipalUsageAllowed stays True when a source is missing",
    [
      create(ROLES, role("new", { sourceIdentityRef: refTo("missing") })), "warned",
      /CI-26 .*"missing" does not exist CI-26 fix: create the source/,
    ],
    [
      create(AWS_CLUSTERS, referrer("AWSCluster", "new", refTo("missing"))), "warned",
      /AC-01 .*"missing" does not exist\. Create the identity/,
    ],
    [
      patch(`${AWS_CLUSTERS}/used`, { spec: { identityRef: refTo("missing") } }), "denied",
      /AC-01 .*"missing" does not exist\. Create the identity/,
    ],
    [remove(`${ROLES}/used`), "denied", /CI-31 .*use the identity: .*team-a\/used.*Delete these objects first/],
  ),
  ...rows(
    "the creator of the singleton does not react to its deletion, and creates it with a rule for every namespace",
    [
      remove(`${CONTROLLERS}/default`), "denied",
      /CI-31 .*use the identity: .*Delete these objects first.*To change the allowed namespaces, waive/,
    ],
  ),
  ...rows(
    "only the singleton named default is used",
    [create(CONTROLLERS, identity("Controller", "other", {})), "denied", /CI-01 .*is "other", not default\. Name/],
  ),
  ...rows(
    "AssumeRole receives the fields as they are, and never policyARNs; a chain has no limit of 3600 s",
    [
      create(ROLES, role("new", { roleARN: "arn:aws:iam::123456789:role/a" })), "denied",
      /CI-20 .*not 12 digits\. Write the role's ARN/,
    ],
    [create(ROLES, role("new", { sessionName: "bad name!" })), "denied", /CI-21 .*"bad name!".*Use the characters/],
    [create(ROLES, role("new", { externalID: "x" })), "denied", /CI-21 .*: the external ID has 1 character,.*\. Use/],
    [create(ROLES, role("new", { inlinePolicy: "allow all" })), "denied", /CI-22 .*not a JSON object\. Write an IAM/],
    [
      create(ROLES, role("new", { policyARNs: ["arn:aws:iam::aws:policy/ReadOnlyAccess"] })), "denied",
      /CI-23 .*Write the restriction/,
    ],
    [
      create(ROLES, role("new", { sourceIdentityRef: refTo("used"), durationSeconds: 43_200 })), "denied",
      /CI-24 .*43200.*3600/,
    ],
  ),
];
