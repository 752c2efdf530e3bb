import { type JsonObject, stringAt } from "../../../shared/formats/json.ts";
import { clusterObject, INFRASTRUCTURE, roleIdentity, staticIdentity, withFields } from "../../shared/capa-objects.ts";

const OWNER_VERSION = "cluster.x-k8s.io/v1beta2";

/** The namespaces of the clusters, with their labels. The labels are those of CAPA's documentation. */
export const NAMESPACES: Readonly<Record<string, JsonObject>> = {
  test: { "cluster.x-k8s.io/ns": "testlabel" },
  labeled: { ns: "testlabel" },
  default: { environment: "dev" },
};

/** The rules of CAPA's proposal and documentation, and similar ones. */
const RULES: Readonly<Record<string, unknown>> = {
  "no-rule": null,
  "empty": {},
  "null-list": { list: null },
  "nulls": { list: null, selector: null },
  "empty-list": { list: [] },
  "empty-selector": { selector: {} },
  "null-list-empty-selector": { list: null, selector: {} },
  "empty-list-empty-selector": { list: [], selector: {} },
  "empty-labels": { selector: { matchLabels: {} } },
  "empty-expressions": { selector: { matchExpressions: [] } },
  "list": { list: ["test"] },
  "list-empty-selector": { list: ["test"], selector: {} },
  "wildcard": { list: ["*"] },
  "labels": { selector: { matchLabels: { ns: "testlabel" } } },
  "list-or-labels": { list: ["test"], selector: { matchLabels: { ns: "testlabel" } } },
  "expression": { selector: { matchExpressions: [{ key: "environment", operator: "In", values: ["dev"] }] } },
  "labels-and-expression": {
    list: [],
    selector: {
      matchLabels: { namespace: "default" },
      matchExpressions: [{ key: "environment", operator: "In", values: ["dev"] }],
    },
  },
  "absent-key": { selector: { matchExpressions: [{ key: "ns", operator: "DoesNotExist" }] } },
  "unknown-field": { namespaces: ["test"] },
  "unknown-selector-field": { selector: { matchlabels: { ns: "testlabel" } } },
  "unknown-operator": { list: ["test"], selector: { matchExpressions: [{ key: "ns", operator: "Equals" }] } },
};

const TEST = { list: ["test"] };
const INLINE_POLICY = { Version: "2012-10-17", Statement: [{ Effect: "Allow", Action: "ec2:*", Resource: "*" }] };

/** The identities, except the controller identity, which CAPA creates. */
export const IDENTITIES: readonly JsonObject[] = [
  staticIdentity("base"),
  staticIdentity("test-account", RULES["labels"]),
  ...Object.entries(RULES).map(([name, rule]) => roleIdentity(name, "static/base", rule)),
  roleIdentity("multi-tenancy-role", "controller", { list: [] }, { durationSeconds: 900, sessionName: "role-session" }),
  roleIdentity("multi-tenancy-nested-role", "role/multi-tenancy-role", { list: [] }),
  roleIdentity("test-account-role", "static/test-account", {}, {
    sessionName: "cluster-spinner.acme.com", externalID: "7a5b816a-7743-4377-a382-2d695bf1f172",
    inlinePolicy: JSON.stringify(INLINE_POLICY),
  }),
  roleIdentity("over-controller", "controller", TEST),
  roleIdentity("nested", "role/over-controller"),
  roleIdentity("nested-twice", "role/nested"),
  roleIdentity("without-source", null, TEST),
  roleIdentity("over-missing", "static/missing"),
];

/** What clusters refer to: the identities, and some that do not exist. Null stands for a missing `identityRef`. */
const REFERENCES: Readonly<Record<string, string | null>> = {
  ...Object.fromEntries([
    ...Object.keys(RULES), "multi-tenancy-role", "multi-tenancy-nested-role", "test-account-role", "over-controller",
    "nested", "nested-twice", "without-source", "over-missing", "missing",
  ].map((name) => [name, `role/${name}`])),
  "static": "static/base", "test-account": "static/test-account", "controller": "controller", "no-reference": null,
};

/** A cluster with each reference in each namespace. Its Cluster has the same name, which is unique. */
export const CLUSTERS: readonly JsonObject[] = Object.keys(NAMESPACES).flatMap((namespace) => (
  Object.entries(REFERENCES).map(([name, reference]) => exampleCluster(name, reference, namespace))
));

function exampleCluster(example: string, reference: string | null, namespace: string): JsonObject {
  const name = `${example}.${namespace}`;
  const ownerReferences = [{ apiVersion: OWNER_VERSION, kind: "Cluster", name, uid: "u" }];
  return withFields(clusterObject(name, reference, namespace), "metadata", { ownerReferences });
}

/** A static identity whose Secret has the keys of CAPA's documentation, which CAPA does not read, and its cluster. */
export const MISSPELLED = {
  identity: staticIdentity("misspelled-keys"),
  secret: { metadata: { name: "misspelled-keys-creds" }, stringData: { accessKeyID: "a", secretAccessKey: "b" } },
  cluster: exampleCluster("misspelled-keys", "static/misspelled-keys", "test"),
} as const;

/** Returns the name, which is unique among the clusters. */
export function nameOf({ metadata }: JsonObject): string {
  return stringAt(metadata, "name") ?? "";
}

/** Returns the Cluster that owns the cluster. */
export function ownerOf({ metadata }: JsonObject): object {
  const [name, namespace] = [stringAt(metadata, "name"), stringAt(metadata, "namespace")];
  const infrastructureRef = { apiGroup: INFRASTRUCTURE, kind: "AWSCluster", name };
  return {
    apiVersion: OWNER_VERSION, kind: "Cluster", metadata: { name, namespace }, spec: { infrastructureRef },
  };
}

/** Returns the path of the collection of an identity or a cluster. */
export function collectionOf({ kind, metadata }: JsonObject): string {
  const namespace = stringAt(metadata, "namespace");
  const plural = kind === "AWSCluster" ? "awsclusters" : String(kind).toLowerCase().replace(/y$/, "ies");
  return `/apis/${INFRASTRUCTURE}/v1beta2/${namespace === null ? "" : `namespaces/${namespace}/`}${plural}`;
}
