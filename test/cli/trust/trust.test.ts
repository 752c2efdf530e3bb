import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "tap";
import { trustCallers } from "../../../cli/trust/trust-callers.ts";
import { document, exportOf, roleDetail } from "../../shared/trust/iam-export.ts";
import { allow, APP, type Fields, grant, ROLE } from "../../shared/trust/trust-cases.ts";
import { controllerDeployment } from "../../fixtures/controllers.ts";
import { type CommandResult, runCommand } from "../run-command.ts";

const FAR = "arn:aws:iam::222222222222:role/far";
const HIDDEN = { Tags: [{ Key: "hidden-key", Value: "hidden-value" }] };
const UNASKED = roleDetail("arn:aws:iam::222222222222:role/unasked", document(allow({ AWS: "333333333333" })), HIDDEN);

function fileOf(...objects: readonly unknown[]): string {
  const file = path.join(mkdtempSync(path.join(tmpdir(), "trust-")), "input.json");
  writeFileSync(file, objects.map((object) => JSON.stringify(object)).join("\n---\n"));
  return file;
}

const ofTags = allow({ AWS: APP }, { Action: ["sts:AssumeRole", "sts:TagSession"] });
const WITH_EXTERNAL_ID = { Condition: { StringEquals: { "sts:ExternalId": "x1" } } };
const ISSUER = "oidc.eks.eu-west-1.amazonaws.com/id/0123456789ABCDEF";
/** The trust policy of APP, which lets in the service account of the controllers and EKS. */
const OWN = document(
  allow({ Federated: `arn:aws:iam::111122223333:oidc-provider/${ISSUER}` }, {
    Action: "sts:AssumeRoleWithWebIdentity",
    Condition: { StringEquals: { [`${ISSUER}:sub`]: "system:serviceaccount:ack-system:ack-s3" } },
  }),
  allow({ Service: ["pods.eks.amazonaws.com", "capabilities.eks.amazonaws.com"] }, {
    Action: ["sts:AssumeRole", "sts:TagSession"],
  }),
);
const IAM = [
  exportOf({ RoleDetailList: [
    roleDetail(ROLE, document(allow({ AWS: APP }, WITH_EXTERNAL_ID)), HIDDEN),
    roleDetail(FAR, document(ofTags)), UNASKED,
  ] }),
  exportOf({ RoleDetailList: [roleDetail(APP, OWN, {
    ...HIDDEN, RolePolicyList: [{ PolicyName: "sts", PolicyDocument: document(grant()) }],
  })] }),
].map((one) => fileOf(one));

function selector(name: string, arn: string, annotations: Fields = {}): Fields {
  return {
    apiVersion: "services.k8s.aws/v1alpha1", kind: "IAMRoleSelector", metadata: { name, annotations },
    spec: { arn, namespaceSelector: { names: [name] } },
  };
}

const SELECTORS = [
  selector("team-a", ROLE, { "ack-role-resolver.io/external-id": "x1" }), selector("team-b", FAR),
] as const;
const MANIFESTS = fileOf(...SELECTORS);

function trust(from: string | null, ...words: readonly string[]): Promise<CommandResult> {
  const source = from === null ? [] : ["--from", from];
  return runCommand(["trust", ...source, ...IAM.flatMap((file) => ["--iam", file]), ...words]);
}

test("trust answers for each role of the manifests, with the reason of each no", async (t) => {
  const { status, stdout, stderr } = await trust(MANIFESTS, "--caller", APP, "--caller-credentials", "irsa");
  t.equal(status, 1);
  t.match(stdout, /^VERDICT {2}NAMED BY .*\nyes +arn:.*\nno +IAMRoleSelector team-a .*\n {2}sts:AssumeRole: no: the /);
  t.match(stdout, new RegExp(`\nyes +IAMRoleSelector team-b +${FAR} +${APP} +ack, irsa\n$`));
  t.equal(stderr, "3 answers: 2 yes, 1 no, 0 unknown\n");
  const sidecar = await trust(MANIFESTS, "--caller", APP, "--caller-credentials", "irsa", "--via", "sidecar");
  t.match(sidecar, { status: 0, stderr: "3 answers: 3 yes, 0 no, 0 unknown\n" });
});

test("trust prints JSON without tags, external IDs and the policies of other roles", async (t) => {
  const { status, stdout } = await trust(MANIFESTS, "--caller", APP, "--via", "eks-capability", "-o", "json");
  t.match([status, JSON.parse(stdout)], [1, [
    {
      namedBy: null, role: APP, caller: "capabilities.eks.amazonaws.com", via: "eks-capability", credentials: null,
      verdict: "yes",
    },
    {
      namedBy: { kind: "IAMRoleSelector", name: "team-a" }, role: ROLE, caller: APP, via: "eks-capability",
      credentials: null, through: null, verdict: "no", missing: [], actions: [{ verdict: "no" }, { verdict: "no" }],
    },
    { role: FAR, verdict: "yes", actions: [{ action: "sts:AssumeRole" }, { action: "sts:TagSession" }] },
  ]]);
  for (const secret of ["hidden", "x1", "unasked", "333333333333"]) t.notMatch(stdout, secret);
});

test("trust reads the callers from the Deployments of the controllers", async (t) => {
  const account = {
    apiVersion: "v1", kind: "ServiceAccount",
    metadata: { name: "ack-s3", namespace: "ack-system", annotations: { "eks.amazonaws.com/role-arn": APP } },
  };
  const sidecar = { name: "ack-role-resolver", args: ["sidecar", "--cluster", "--default-external-id=x1"] };
  const others = controllerDeployment({ name: "ack-sqs", spec: { serviceAccountName: "ack-sqs" } });
  const manifests = fileOf(
    ...SELECTORS, account, controllerDeployment(), others,
    controllerDeployment({ name: "ack-s3b", spec: { initContainers: [sidecar] } }),
  );
  const { stdout, stderr } = await trust(manifests, "-o", "json");
  const rows: unknown = JSON.parse(stdout);
  const own = { namedBy: { kind: "Deployment" }, role: APP, caller: "system:serviceaccount:ack-system:ack-s3" };
  t.match(rows, [
    { ...own, via: "irsa", verdict: "yes" }, { ...own, via: "irsa", verdict: "yes" },
    { role: ROLE, caller: APP, via: "ack", credentials: "irsa", verdict: "no" },
    { role: ROLE, caller: APP, via: "sidecar", credentials: "irsa", verdict: "yes" },
    { role: FAR, via: "ack" }, { role: FAR, via: "sidecar" },
  ]);
  t.match(stderr, /^note: the role of Deployment ack-system\/ack-sqs is unknown: it uses .*; pass --caller$/m);
});

test("trust never succeeds with a controller whose role is unknown, unless --caller states it", async (t) => {
  const account = {
    apiVersion: "v1", kind: "ServiceAccount",
    metadata: { name: "ack-s3", namespace: "ack-system", annotations: { "eks.amazonaws.com/role-arn": APP } },
  };
  const others = controllerDeployment({ name: "ack-sqs", spec: { serviceAccountName: "ack-sqs" } });
  const manifests = fileOf(SELECTORS[1], account, controllerDeployment(), others);
  t.match(await trust(manifests), { status: 1, stderr: /2 yes, 0 no/ });
  const stated = await trust(manifests, "--caller", APP, "--caller-credentials", "irsa");
  t.match(stated, { status: 0, stderr: /2 yes, 0 no/ });
  const settings = {
    caller: [APP], via: "ack", callerCredentials: null, sessionName: "s1", defaultExternalId: null,
    defaultSourceIdentity: null, defaultSessionTags: [],
  } as const;
  const unread = { controllers: [], unread: "Deployments cannot be listed" };
  t.match(trustCallers(settings, unread), { notes: [unread.unread], callers: [{ arn: APP }] });
  const message = /^no caller is known: .*; Deployments cannot be listed$/;
  t.throws(() => trustCallers({ ...settings, caller: [] }, unread), { message });
});

test("trust names the flag for controllers in another namespace", async (t) => {
  const account = {
    apiVersion: "v1", kind: "ServiceAccount",
    metadata: { name: "ack-s3", namespace: "ack", annotations: { "eks.amazonaws.com/role-arn": APP } },
  };
  const manifests = fileOf(SELECTORS[1], account, controllerDeployment({ namespace: "ack" }));
  const flag = /Deployment ack\/ack-s3 not read, because of the namespace; pass --ack-system-namespace ack\n/;
  t.match(await trust(manifests), { status: 2, stderr: flag });
  t.match(await trust(manifests, "--caller", APP, "--caller-credentials", "irsa"), { status: 0, stderr: flag });
  const stated = await trust(manifests, "--ack-system-namespace", "ack");
  t.match(stated, { stdout: /^yes +IAMRoleSelector team-b /m });
});

test("trust examines the roles of the exports if there are no objects", async (t) => {
  const { stdout } = await trust(null, "--caller", APP, "--caller-credentials", "pod-identity", "-o", "json");
  t.match(JSON.parse(stdout), [
    { namedBy: null, role: APP, caller: "pods.eks.amazonaws.com", via: "pod-identity", verdict: "yes" },
    { namedBy: null, role: FAR, verdict: "yes" }, { role: ROLE, verdict: "no" },
    { role: UNASKED["Arn"], verdict: "no" },
  ]);
  t.match(await trust(fileOf({ apiVersion: "v1", kind: "Namespace", metadata: { name: "a" } }), "--caller", APP), {
    status: 0, stdout: "No role to examine.\n", stderr: "0 answers: 0 yes, 0 no, 0 unknown\n",
  });
});

test("trust notes identities that it cannot examine, and never succeeds then", async (t) => {
  const identity = {
    apiVersion: "infrastructure.cluster.x-k8s.io/v1beta2", kind: "AWSClusterRoleIdentity", metadata: { name: "c" },
    spec: { roleARN: FAR, sourceIdentityRef: { kind: "AWSClusterStaticIdentity", name: "keys" } },
  };
  const { status, stderr } = await trust(fileOf(identity), "--caller", APP, "--via", "capa");
  t.equal(status, 1);
  t.match(stderr, /^note: AWSClusterRoleIdentity "c" is not examined: its source .* does not exist\n0 answers/);
});

test("trust rejects bad callers, flags and manifests", async (t) => {
  const fault = async (...words: readonly string[]): Promise<string> => {
    const { status, stderr } = await trust(MANIFESTS, ...words);
    t.equal(status, 2, words.join(" "));
    return stderr;
  };
  t.match(await fault(), /no caller is known: pass the role of the controllers with --caller/);
  t.match(await fault("--caller", "ack"), /principalArn "ack" is not the ARN of a role/);
  const bob = "arn:aws:iam::111122223333:user/bob";
  t.match(await fault("--caller", bob, "--caller-credentials", "irsa"), /is a user: pass/);
  t.match(await fault("--caller", APP, "--via", "kro"), /--via/);
  t.match(await fault("--caller", APP, "--default-external-id", "x y"), /--default-external-id: the external ID /);
  const missing = await runCommand(["trust", "--from", MANIFESTS, "--caller", APP]);
  t.match(missing, { status: 2, stderr: /--iam is missing/ });
  t.match(await trust("/missing.yaml", "--caller", APP), { status: 2, stdout: "" });
});
