// A cluster for each way in which the role of a resource can be broken, for `why`.
import type { Test } from "tap";
import { RESOLUTION } from "../../shared/core/annotation-keys.ts";
import { SELECTOR_OWNER } from "../../shared/core/grant-session.ts";
import type { JsonObject } from "../../shared/formats/json.ts";
import { objectReference } from "../../shared/formats/object-meta.ts";
import { refusalText } from "../../shared/refusals/refusal-text.ts";
import type { RefusedAssumeRole } from "../../shared/refusals/refused-call.ts";
import { gatedDeployment } from "../fixtures/controllers.ts";
import {
  DEFINITIONS, definition, type ErrorAnswer, FakeCluster, NAMESPACES_PATH, SELECTORS_PATH,
} from "../shared/api/fake-cluster.ts";
import { bucketObject, mapObject, namespaceObject, ROLE, roleIn, SECOND, selectorObject } from "../shared/objects.ts";

interface BrokenResource {
  readonly title: string;
  readonly objects: readonly JsonObject[];
  readonly argv?: readonly string[];
  /**
   * What a user replaces in the printed commands or in the editor that they open, as a program of sed without spaces.
   * The commands then give the resource its role.
   */
  readonly repair?: string;
  /** The notes of Events of the sidecar about the bucket. */
  readonly notes?: readonly string[];
  /** The answers of the API server to lists of a path that fail. */
  readonly errors?: Readonly<Record<string, ErrorAnswer>>;
}

const CAPA = "infrastructure.cluster.x-k8s.io/v1beta2";
const BUCKET = ["bucket/b1", "-n", "team-a"];
const TEAM_A = namespaceObject("team-a");
const SELECTOR = selectorObject("team-a", { arn: ROLE, namespaceSelector: { names: ["team-a"] } });
const SESSION = "arn:aws:sts::777788889999:assumed-role/ack/1712345678901234567";
/** Returns the Deployment of the controller for S3, as an API server accepts it. */
export function controller(gates: string, carm: boolean): JsonObject {
  const labels = { app: "ack-s3" };
  const { spec, ...deployment } = gatedDeployment(gates, carm, { metadata: { labels } });
  return { ...deployment, spec: Object.assign({ selector: { matchLabels: labels } }, spec) };
}

const CALL: RefusedAssumeRole = {
  action: "AssumeRole", roleARN: ROLE, owner: SELECTOR_OWNER, caller: "arn:aws:iam::777788889999:role/ack",
  base: "arn:aws:iam::777788889999:role/ack", hasPodTags: true, hasIdentityTags: false,
  sent: {
    sessionName: "ack-role-resolver", durationSeconds: 900, sourceIdentity: null, hasExternalID: false,
    hasPolicy: false, tagKeys: [],
  },
};

/** Returns the Event of a sidecar whose call STS denied. */
function refusal(action: string, call: Partial<RefusedAssumeRole> = {}): string {
  const message = `User: ${SESSION} is not authorized to perform: ${action} on resource: ${ROLE}`;
  const text = refusalText({ code: "AccessDenied", message }, { ...CALL, ...call });
  return `The role of IAMRoleSelector team-a cannot be assumed: ${text}`;
}

/** What the webhook wrote when selector `name` selected the bucket, which then was created. */
function annotated(
  name: string, account = "111122223333", others: Readonly<Record<string, string>> = {},
): JsonObject {
  const annotations = {
    ...others,
    [RESOLUTION.outcome]: "selected", [RESOLUTION.via]: "selector", [RESOLUTION.selector]: name,
    [RESOLUTION.roleARN]: `arn:aws:iam::${account}:role/${name}`,
    [RESOLUTION.reason]: `IAMRoleSelector ${name} selects the resource.`,
  };
  const ackResourceMetadata = { ownerAccountID: account, region: "eu-west-1", arn: "arn:aws:s3:::b1" };
  return bucketObject({ annotations }, { status: { ackResourceMetadata } });
}

/** Renames the selector and lets it replace team-a. */
const REPLACED = `s/^..name:.team-a$/${
  "  name: team-b\\n  annotations:\\n    ack-role-resolver.io\\/replaces: team-a".replaceAll(" ", "\\x20")}/`;

export const BROKEN: readonly BrokenResource[] = [
  {
    title: "two selectors select the bucket", repair: "",
    objects: [
      TEAM_A, SELECTOR, bucketObject(),
      selectorObject("buckets", {
        arn: roleIn(SECOND), resourceTypeSelector: [{ group: "s3.services.k8s.aws", version: "", kind: "" }],
      }),
    ],
  },
  {
    title: "a selector lists a misspelled namespace", repair: "",
    objects: [TEAM_A, bucketObject(), selectorObject("typo", { arn: ROLE, namespaceSelector: { names: ["taem-a"] } })],
  },
  {
    title: "a selector requires a misspelled value of a label", repair: "",
    objects: [
      namespaceObject("team-a", { stage: "production" }), bucketObject(),
      selectorObject("typo", {
        arn: ROLE, namespaceSelector: { names: [], labelSelector: { matchLabels: { stage: "prodution" } } },
      }),
    ],
  },
  {
    title: "a selector lists the namespace twice, so that controllers ignore it", repair: "",
    objects: [
      TEAM_A, bucketObject(),
      selectorObject("twice", { arn: ROLE, namespaceSelector: { names: ["team-a", "team-a"] } }),
    ],
  },
  {
    title: "the selector that selected the bucket was narrowed", repair: "",
    objects: [
      TEAM_A, annotated("mine"),
      selectorObject("mine", { arn: ROLE.replace("team-a", "mine"), namespaceSelector: { names: ["other"] } }),
      ...Array.from({ length: 5 }, (_, i) => selectorObject(`team-${i}`, {
        arn: roleIn(SECOND), namespaceSelector: { names: [`team-${i}`] },
      })),
    ],
  },
  {
    title: "the annotation of the namespace misspells the key of a CARM map", repair: "",
    objects: [
      namespaceObject("team-a", {}, { "services.k8s.aws/team-id": "paymnets" }), bucketObject(),
      mapObject("ack-role-team-map", { payments: ROLE }), controller("TeamLevelCARM=true", true),
    ],
  },
  {
    title: "no selector exists", objects: [TEAM_A, bucketObject()],
    repair: "s/ACCOUNT/111122223333/",
  },
  {
    title: "the selector is malformed", repair: "",
    objects: [
      TEAM_A, bucketObject(),
      selectorObject("team-a", { arn: ROLE.replace("::", ":"), namespaceSelector: { names: ["team-a"] } }),
    ],
  },
  {
    title: "the role of the selector is a user", repair: `${REPLACED};s/:user./:role\\//`,
    objects: [
      TEAM_A, bucketObject(),
      selectorObject("team-a", { arn: ROLE.replace("role/", "user/"), namespaceSelector: { names: ["team-a"] } }),
    ],
  },
  {
    title: "the selector of a bucket that exists was deleted", objects: [TEAM_A, annotated("team-a")],
    argv: ["--controller-account", "777788889999"], repair: "",
  },
  {
    title: "the trust policy of the role does not allow the caller", objects: [TEAM_A, SELECTOR, bucketObject()],
    notes: [refusal("sts:AssumeRole", { hasPodTags: false })],
  },
  {
    title: "the role does not allow sts:TagSession", objects: [TEAM_A, SELECTOR, bucketObject()],
    notes: [refusal("sts:TagSession")],
  },
  { title: "the cluster does not serve the kind", objects: [TEAM_A, SELECTOR], argv: ["queue/jobs", "-n", "team-a"] },
  {
    title: "the annotations are stale", repair: "",
    objects: [
      TEAM_A, SELECTOR,
      bucketObject({ annotations: { [RESOLUTION.outcome]: "selected", [RESOLUTION.selector]: "old" } }),
    ],
  },
  {
    title: "the namespace lacks a label", repair: "",
    objects: [TEAM_A, bucketObject(), selectorObject("gold", {
      arn: ROLE, namespaceSelector: { names: [], labelSelector: { matchLabels: { env: "prod", tier: "gold" } } },
    })],
  },
  {
    title: "the CARM map lacks the account of the namespace",
    objects: [
      namespaceObject("team-a", {}, { "services.k8s.aws/owner-account-id": SECOND }), bucketObject(),
      mapObject("ack-role-account-map", { 111122223333: ROLE }), controller("", true),
    ],
  },
  {
    title: "the controller exits at its start", repair: "",
    objects: [TEAM_A, SELECTOR, bucketObject(), controller("IAMRoleSelector=true", true)],
  },
  {
    title: "the identity does not allow the namespace of the cluster",
    repair: "s/team-b/team-a/",
    objects: [
      TEAM_A,
      {
        apiVersion: CAPA, kind: "AWSClusterRoleIdentity", metadata: { name: "platform" },
        spec: {
          roleARN: ROLE, allowedNamespaces: { list: ["team-b"] },
          sourceIdentityRef: { kind: "AWSClusterControllerIdentity", name: "default" },
        },
      },
      {
        apiVersion: CAPA, kind: "AWSCluster", metadata: { name: "c1", namespace: "team-a" },
        spec: { identityRef: { kind: "AWSClusterRoleIdentity", name: "platform" } },
      },
    ],
    argv: ["awscluster/c1", "-n", "team-a"],
  },
  {
    title: "the user may not list selectors", objects: [TEAM_A, SELECTOR, bucketObject()],
    errors: {
      [SELECTORS_PATH]: {
        status: 403, message: 'iamroleselectors.services.k8s.aws is forbidden: User "jane" cannot list resource '
          + '"iamroleselectors" in API group "services.k8s.aws" at the cluster scope',
      },
    },
  },
  {
    title: "the resource lacks a label", repair: "s/ACCOUNT/111122223333/",
    objects: [TEAM_A, bucketObject(), selectorObject("gold", {
      arn: ROLE, namespaceSelector: { names: ["team-a"] }, resourceLabelSelector: { matchLabels: { tier: "gold" } },
    })],
  },
  {
    title: "a label of the resource has another value", repair: "s/ACCOUNT/111122223333/",
    objects: [TEAM_A, bucketObject({ labels: { tier: "silver" } }), selectorObject("gold", {
      arn: ROLE, resourceLabelSelector: { matchLabels: { tier: "gold" } },
    })],
  },
  {
    title: "the bucket exists in another region", repair: "",
    objects: [TEAM_A, SELECTOR, annotated("team-a", "111122223333", { "services.k8s.aws/region": "us-east-1" })],
  },
  {
    title: "the bucket exists in another account", objects: [TEAM_A, SELECTOR, annotated("team-a", SECOND)],
    repair: "",
  },
];

/** The command line of `why` about a broken resource. */
export function wordsOf({ argv = [] }: BrokenResource): readonly string[] {
  return argv[0]?.includes("/") === true ? argv : [...BUCKET, ...argv];
}

/** Starts a fake API server with the objects of the broken resource. */
export async function clusterOf(
  { objects, notes = [], errors = {} }: Omit<BrokenResource, "title">,
): Promise<FakeCluster> {
  const cluster = new FakeCluster();
  await cluster.start();
  const identity = "AWSClusterRoleIdentity";
  cluster.objects.set(DEFINITIONS, [
    definition("s3.services.k8s.aws", "Bucket"),
    definition("infrastructure.cluster.x-k8s.io", "AWSCluster", { versions: ["v1beta2"] }),
    definition("infrastructure.cluster.x-k8s.io", identity, { versions: ["v1beta2"], scope: "Cluster" }),
  ]);
  const stored: JsonObject[] = objects.map(({ metadata, ...object }) => (
    { ...object, metadata: Object.assign({ resourceVersion: "7" }, metadata) }
  ));
  for (const [path, listed] of Map.groupBy(stored, listPath)) cluster.objects.set(path, listed);
  // `why` reads the other resources if a repair could change their roles.
  const buckets = stored.filter((object) => objectReference(object).kind === "Bucket");
  cluster.objects.set("/apis/s3.services.k8s.aws/v1alpha1/buckets", buckets);
  for (const [path, error] of Object.entries(errors)) cluster.errors.set(path, error);
  cluster.objects.set("/api/v1/namespaces/team-a/events", notes.map((message) => ({
    reason: "RoleRefused", message, reportingComponent: "ack-role-resolver.io/sidecar",
    eventTime: new Date(Date.now() - 3 * 60_000).toISOString(),
  })));
  return cluster;
}

/** Returns the path from which `why` reads the object. */
function listPath(object: JsonObject): string {
  const path = objectPath(object);
  return objectReference(object).kind === "Deployment" ? path.replace(/\/namespaces\/[^/]+/, "") : path;
}

/** Returns the path of the collection that contains the object. */
export function objectPath(object: JsonObject): string {
  const { group, version, kind, namespace } = objectReference(object);
  if (kind === "Namespace") return NAMESPACES_PATH;
  const base = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
  return `${base}${namespace === "" ? "" : `/namespaces/${namespace}`}/${kind.toLowerCase()}s`;
}

/** Returns a kubeconfig of the cluster, whose context has the namespace team-a. Stops the cluster after the test. */
export function kubeconfigOf(t: Test, cluster: FakeCluster): string {
  t.teardown(() => cluster.server.stop());
  const contexts = [{ name: "test", context: { cluster: "c", user: "u", namespace: "team-a" } }];
  return `${t.testdir({
    kubeconfig: JSON.stringify({
      clusters: [{ name: "c", cluster: { server: cluster.server.url } }], users: [{ name: "u", user: {} }], contexts,
      "current-context": "test",
    }),
  })}/kubeconfig`;
}
