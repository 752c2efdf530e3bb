/** Objects that do what a statement of docs/proposals.md says, and the IDs of the checks that report them. */
interface Trial {
  readonly yaml: string;
  /** The stored objects, if the objects are a change, which `impact` judges. */
  readonly before?: string;
  readonly flags?: readonly string[];
  readonly ack: readonly string[];
  /** With `--runtime extended`, if that differs. */
  readonly extended?: readonly string[];
}

/** The mode and the feature gates of the proposals S1 and S2. */
export const CARM = ["--mode=carm", "--team-level-carm=true", "--service-level-carm=true"];
const POLICY = "arn:aws:iam::aws:policy/A";
const ROLE = "arn:aws:iam::111122223333:role/a";

function selector(spec: string, name = "a"): string {
  return `
apiVersion: services.k8s.aws/v1alpha1
kind: IAMRoleSelector
metadata: {name: ${name}, annotations: {ack-role-resolver.io/replaces: old}}
spec: {${spec}}
---`;
}

function namespace(annotations: string): string {
  return `
apiVersion: v1
kind: Namespace
metadata: {name: a, annotations: {${annotations}}}
---`;
}

function bucket(annotations: string): string {
  return `
apiVersion: s3.services.k8s.aws/v1alpha1
kind: Bucket
metadata: {name: a, namespace: a, annotations: {${annotations}}}
spec: {name: a}
status: {ackResourceMetadata: {ownerAccountID: "111122223333", region: eu-west-1}}
---`;
}

function carmMap(data: string): string {
  return `
apiVersion: v1
kind: ConfigMap
metadata: {name: ack-role-account-map, namespace: ack-system}
data: {${data}}
---`;
}

/** An object of CAPA, in the version that it serves. */
function capa(kind: string, name: string, spec: string): string {
  return `
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: ${kind}
metadata: {name: ${name}, namespace: a}
spec: {${spec}}
---`;
}

function roleIdentity(name: string, account: string, more = ""): string {
  const source = "sourceIdentityRef: {kind: AWSClusterControllerIdentity, name: default}";
  const spec = `roleARN: "arn:aws:iam::${account}:role/a", allowedNamespaces: {list: [a]}, ${source}`;
  return capa("AWSClusterRoleIdentity", name, `${spec}${more}`);
}

function controllerIdentity(spec: string): string {
  return capa("AWSClusterControllerIdentity", "default", spec);
}

const cluster = (identity: string): string => (
  capa("AWSCluster", "a", `region: eu-west-1, identityRef: {kind: AWSClusterRoleIdentity, name: ${identity}}`)
);
const OF_NAMESPACE = `arn: "${ROLE}", namespaceSelector: {names: [a]}`;
const STORED = selector(OF_NAMESPACE, "old") + namespace("") + bucket("");
const IDENTITIES = roleIdentity("a", "111122223333") + roleIdentity("b", "444455556666")
  + controllerIdentity("allowedNamespaces: {list: [a]}");

/** The trials, by the statement. */
export const TRIALS: Readonly<Record<string, Trial>> = {
  "An entry of `resourceTypeSelector` has an `apiVersion`": {
    yaml: selector(`arn: "${ROLE}", resourceTypeSelector: [{apiVersion: s3.services.k8s.aws/v1alpha1}]`),
    ack: ["IRS-00"],
  },
  "Selectors have `matchExpressions`": {
    yaml: selector(`${OF_NAMESPACE}, resourceLabelSelector: {matchExpressions: [{key: tier, operator: Exists}]}`),
    ack: ["IRS-00", "IRS-35"], extended: ["IRS-00"],
  },
  "Users pick one of several selectors": {
    yaml: bucket("ack-role-resolver.io/use-selector: a"), ack: ["ACK-36"], extended: [],
  },
  "Session parameters are fields of the CRD": { yaml: selector(`${OF_NAMESPACE}, externalID: a`), ack: ["IRS-00"] },
  "The role of a selector can change": {
    before: STORED, yaml: selector(OF_NAMESPACE.replace("role/a", "role/b"), "old"), ack: ["IRS-07"],
  },
  "A new role re-creates resources in its account": {
    before: STORED, yaml: selector(OF_NAMESPACE.replace("111122223333", "444455556666")), ack: ["IRS-17", "IRS-19"],
  },
  "`owner-team-id` names the team of a namespace": {
    flags: CARM, yaml: namespace("services.k8s.aws/owner-team-id: a"), ack: ["NS-10"], extended: [],
  },
  "`s3.services.k8s.aws/team-id` names the team of one service": {
    flags: CARM, yaml: namespace("s3.services.k8s.aws/team-id: a"), ack: ["NS-10"],
  },
  "A resource sets `owner-account-id` and `aws-region`": {
    yaml: bucket('services.k8s.aws/owner-account-id: "1", services.k8s.aws/aws-region: a'), ack: ["ACK-15"],
  },
  "The map nests its entries under `accounts`": {
    flags: CARM, yaml: carmMap(`accounts: {"111122223333": "${ROLE}"}`), ack: ["CM-01"],
  },
  "The map contains an account's `root`": {
    flags: CARM, yaml: carmMap('"111122223333": "arn:aws:iam::111122223333:root"'), ack: ["CM-01"],
  },
  "`identityRef` is mutable": { before: IDENTITIES + cluster("a"), yaml: cluster("b"), ack: ["AC-04"] },
  "A missing `identityRef` is set to the controller identity": {
    yaml: IDENTITIES + capa("AWSCluster", "a", "region: eu-west-1"), ack: ["AC-03"],
  },
  "CAPA applies `policyARNs`, `tags` and `transitiveTags`": {
    yaml: roleIdentity("a", "111122223333", `, policyARNs: ["${POLICY}"], tags: {a: b}, transitiveTags: [a]`),
    ack: ["CI-09", "CI-23"], extended: [],
  },
  "By default, every namespace may use an identity": { yaml: controllerIdentity(""), ack: ["CI-03"] },
  "`secretRef` has a namespace": {
    yaml: capa("AWSClusterStaticIdentity", "a", "secretRef: {name: a, namespace: b}, allowedNamespaces: {list: []}"),
    ack: ["CI-00", "CI-11"],
  },
  "`v1alpha3`": {
    yaml: controllerIdentity("allowedNamespaces: {list: [a]}").replace("v1beta2", "v1alpha3"), ack: ["CI-33"],
  },
  "`{selector: {}}` and `{list: null, selector: {}}` allow no namespace": {
    yaml: controllerIdentity("allowedNamespaces: {list: null, selector: {}}"), ack: ["CI-02"],
  },
  "AWSClusterIdentityIdentity is a kind": {
    yaml: capa("AWSClusterIdentityIdentity", "a", "") + cluster("a").replace("RoleIdentity", "IdentityIdentity"),
    ack: ["AC-00", "CI-33"],
  },
};
