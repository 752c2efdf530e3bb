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

/** The facts about admission that depend on the CRDs or the stored objects. Each change is a dry run. */
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
      "denied", /CI-20 .*"x" is not the ARN of an IAM role: it is not an ARN\. Write/,
    ],
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
];
