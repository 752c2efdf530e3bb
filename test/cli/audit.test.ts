import { test } from "tap";
import { gatedDeployment } from "../fixtures/controllers.ts";
import { runCommand } from "./run-command.ts";
import { STATE } from "./state.ts";

/** Turns off the overlap checks, which have their own tests. */
const ARGUMENTS = ["audit", "-", "--check", "IRS-17=off", "--check", "IRS-18=off"];
const GOOD = `apiVersion: services.k8s.aws/v1alpha1
kind: IAMRoleSelector
metadata: {name: a}
spec: {arn: "arn:aws:iam::111122223333:role/a", namespaceSelector: {names: [default]}}
---
apiVersion: s3.services.k8s.aws/v1alpha1
kind: Bucket
metadata: {name: b1}
`;

interface Report {
  readonly summary: object;
  readonly findings: readonly { readonly section: string }[];
  readonly notApplied: readonly { readonly code: string; readonly needs: string }[];
}

function parsed(stdout: string): Report {
  return JSON.parse(stdout);
}

const REPORT = `8 objects: 3 selectors, 3 resources; 2 without resolution annotations; \
some checks need more input (-v for details)
1  malformed selector (not effective)
1  resource in conflict
1  resource that uses the controller's own role
1  object with stale annotations

Malformed selectors (not effective)
-:22: deny IRS-02 IAMRoleSelector team-b spec.arn: \
"arn:aws:iam:444455556666:role/team-b" is not an ARN: it has fewer than six parts separated by ':'
    fix: write "arn:aws:iam::444455556666:role/team-b"

Resources in conflict
-:30: deny ACK-03 Queue team-a/q1 metadata: \
Cannot determine which IAMRoleSelector to use. Conflicting IAMRoleSelectors: [queues, team-a]; controllers do not \
reconcile the resource
    fix: restrict or delete selectors until only one selects the resource

Resources that use the controller's own role
-:38: warn ACK-05 Bucket team-b/b1 metadata: \
No IAMRoleSelector selects the resource, so the controller's own role is used; IAMRoleSelector team-b would select \
it, but controllers ignore it (IRS-02)
    fix: set spec.arn of IAMRoleSelector team-b to "arn:aws:iam::444455556666:role/team-b"

Objects with stale annotations
-:33: warn ACK-02 Queue team-a/q1 metadata.annotations[ack-role-resolver.io/conflicting-selectors]: \
ack-role-resolver.io/conflicting-selectors is "queues,old" but should be "queues,team-a"; \
ack-role-resolver.io/reason is absent but should be \
"Cannot determine which IAMRoleSelector to use. Conflicting IAMRoleSelectors: [queues, team-a]"
    fix: controllers do not read these annotations, so the role does not depend on them. \
Wait until the webhook updates them, or write the object again, for example with \
\`kubectl annotate --overwrite\`
`;

test("text output shows the counts and each section that has findings; -v lists the skipped checks", async (t) => {
  const { status, stdout, stderr } = await runCommand(ARGUMENTS, { stdin: STATE });
  t.equal(status, 1);
  t.equal(stdout, REPORT);
  t.equal(stderr, "");
  const all = await runCommand([...ARGUMENTS, "-v"], { stdin: STATE });
  t.match(all.stderr, /^(not judged: .*\n)*not judged: accounts of roles \(IRS-04\); pass --allowed-accounts or /);
  const quiet = await runCommand([...ARGUMENTS, "--quiet"], { stdin: STATE });
  t.equal(quiet.stdout, REPORT.slice(REPORT.indexOf("Malformed")));
  t.equal(quiet.stderr, "");
});

const NO_USAGE = { byIdentity: [], byAccount: [], omittedIdentities: 0, omittedAccounts: 0 };

test("JSON output contains the counts and the findings; each finding has a section", async (t) => {
  const { status, stdout, stderr } = await runCommand([...ARGUMENTS, "-o", "json"], { stdin: STATE });
  t.equal(status, 1);
  t.equal(stderr, "");
  const { summary, findings, notApplied, ...rest } = parsed(stdout);
  t.match(rest, { coverage: { judged: 8, notJudged: 0 }, skippedFiles: {}, clusterUsage: NO_USAGE });
  t.match(summary, { objects: 8, selectors: 3, malformed: 1, conflicts: 1, onDefault: 1, denied: 2, warned: 2 });
  t.match(findings[1], { section: "conflicts", line: 30, kind: "Queue", name: "q1", code: "ACK-03", severity: "deny" });
  t.same(findings.map(({ section }) => section), ["malformed", "conflicts", "onDefault", "staleAnnotations"]);
  t.match(notApplied.find(({ code }) => code === "IRS-04"), { needs: "--allowed-accounts or --controller-role" });
});

test("exits 0 if no finding exists, or if every finding is a warning and --fail-on warn is not set", async (t) => {
  const { status, stdout } = await runCommand(["audit", "-"], { stdin: GOOD });
  t.equal(status, 0);
  t.match(stdout, /^2 objects: 1 selector, 1 resource; .*\n$/, "one line");
  const unselected = GOOD.replace("[default]", "[other]");
  t.equal((await runCommand(["audit", "-"], { stdin: unselected })).status, 0);
  t.equal((await runCommand(["audit", "-", "--fail-on", "warn"], { stdin: unselected })).status, 1);
  t.equal((await runCommand(["audit", "-", "--fail-on", "warn"], { stdin: GOOD })).status, 0);
});

test("denies a role whose account is not one of --allowed-accounts", async (t) => {
  const { status, stdout } = await runCommand(["audit", "-", "--allowed-accounts", "999999999999"], { stdin: GOOD });
  t.equal(status, 1);
  t.match(stdout, "\n1  selector or resource that uses a forbidden account\n");
  t.match(
    stdout,
    "-:4: deny IRS-04 IAMRoleSelector a spec.arn: " +
      "account 111122223333 is not one of the allowed accounts: 999999999999\n",
  );
  t.equal((await runCommand(["audit", "-", "--allowed-accounts", "111122223333"], { stdin: GOOD })).status, 0);
});

const CAPA = "apiVersion: infrastructure.cluster.x-k8s.io/v1beta2";
const CLUSTERS = `${CAPA}
kind: AWSClusterStaticIdentity
metadata: {name: all}
spec: {secretRef: creds, allowedNamespaces: {}}
---
${CAPA}
kind: AWSCluster
metadata: {name: a, namespace: ns1}
spec: {identityRef: {kind: AWSClusterStaticIdentity, name: all}}
---
${CAPA}
kind: AWSCluster
metadata: {name: b, namespace: ns1}
spec: {identityRef: {kind: AWSClusterStaticIdentity, name: all}}
---
${CAPA}
kind: AWSServiceAccountIdentity
metadata: {name: sa, namespace: ns1}
spec: {roleARN: "arn:aws:iam::111122223333:role/a"}
---
${CAPA}
kind: AWSCluster
metadata: {name: c, namespace: ns1}
spec: {identityRef: {kind: AWSServiceAccountIdentity, name: sa}}
`;

test("text output shows the number of clusters for each identity and each account", async (t) => {
  const { stdout } = await runCommand(["audit", "-", "--runtime", "extended"], { stdin: CLUSTERS });
  const [first = "", ...lines] = stdout.split("\n");
  t.equal(first,
    "5 objects: 0 selectors, 0 resources, 2 identities, 3 clusters; 3 without resolution annotations; some checks need "
      + "more input (-v for details)");
  t.ok(lines.includes("1  identity that every namespace may use"));
  t.match(stdout, `
Clusters by identity
2  AWSClusterStaticIdentity/all
1  AWSServiceAccountIdentity/ns1/sa

Clusters by account
2  the account of Secret creds
1  account 111122223333

Identities that every namespace may use
-:4: warn CI-04 AWSClusterStaticIdentity all spec.allowedNamespaces: `);
});

test("text output lists 20 identities and accounts, and counts the others", async (t) => {
  const cluster = (i: number): string => `---
${CAPA}
kind: AWSCluster
metadata: {name: "c${i}", namespace: ns1}
spec: {identityRef: {kind: AWSClusterStaticIdentity, name: "s${i}"}}
`;
  const stdin = Array.from({ length: 121 }, (_, i) => cluster(i)).join("");
  const { stdout } = await runCommand(["audit", "-"], { stdin });
  t.match(stdout, "AWSClusterStaticIdentity/s115\nand 101 more\n\nClusters by account\n121  an unknown account\n");
  t.match(stdout, ", 0 identities, 121 clusters; 121 without resolution annotations; ");
});

const ACCOUNT = {
  apiVersion: "v1", kind: "ServiceAccount", metadata: {
    name: "ack-s3", namespace: "ack-system",
    annotations: { "eks.amazonaws.com/role-arn": "arn:aws:iam::111122223333:role/ack-s3" },
  },
};
const NAMESPACED = gatedDeployment("IAMRoleSelector=true", false, {
  args: ["--watch-namespace=team-a\u009b"], env: [{ name: "AWS_PROFILE", value: "p" }],
});
const CONTROLLERS = `${JSON.stringify(NAMESPACED)}\n---\n${JSON.stringify(ACCOUNT)}\n---\n${GOOD}`;

test("reads settings from the Deployments of controllers, and says what it read and what contradicts", async (t) => {
  const { status, stdout } = await runCommand(["audit", "-", "--region", "us-east-1"], { stdin: CONTROLLERS });
  t.equal(status, 0);
  t.match(stdout, `
Controllers
DEPLOYMENT         ROLES FROM        REGION     WATCHES       OWN CREDENTIALS
ack-system/ack-s3  IAMRoleSelectors  eu-west-1  team-a\\u009b  arn:aws:iam::111122223333:role/ack-s3: the role of \
service account ack-system/ack-s3 (eks.amazonaws.com/role-arn); ignored: the profile in AWS_PROFILE
Settings from the Deployments: --controller-account=111122223333 --controller-role=arn:aws:iam::111122223333:role/ack-s3
note: --region=us-east-1 contradicts the Deployments: eu-west-1 in ack-system/ack-s3
`);
  t.match(stdout, /warn AUD-15 Deployment ack-system\/ack-s3 spec\.template\.spec\.containers: the controller /);
  t.match(stdout, "IRS-05", "the account of the controllers is known");
  t.match((await runCommand(["audit", "-", "-o", "junit"], { stdin: CONTROLLERS })).stderr,
    /^Settings from the Deployments: --region=eu-west-1 /m, "a format of other programs lacks them");
  const json = await runCommand(["audit", "-", "-o", "json", "--region", "us-east-1"], { stdin: CONTROLLERS });
  t.match(JSON.parse(json.stdout), {
    controllers: {
      deployments: [{ name: "ack-system/ack-s3", rolesFrom: "selectors", region: "eu-west-1" }],
      settings: { mode: "selectors", region: "us-east-1", controllerAccount: "111122223333" }, notes: [/contradicts/],
    },
  });
});

test("audits the CARM maps if the controllers use them, unless --mode states selectors", async (t) => {
  const stdin = `${JSON.stringify(gatedDeployment("TeamLevelCARM=true"))}
---
apiVersion: v1
kind: Namespace
metadata: {name: default, annotations: {services.k8s.aws/team-id: blue}}
---
${GOOD}`;
  const { stdout } = await runCommand(["audit", "-"], { stdin });
  t.match(stdout, "ack-system/ack-s3  CARM maps, TeamLevelCARM  eu-west-1  all namespaces  EKS Pod Identity or");
  t.match(stdout, "\n1  resource without a role in the CARM maps\n");
  const { stdout: stated } = await runCommand(["audit", "-", "--mode", "selectors"], { stdin });
  t.notMatch(stated, "without a role in the CARM maps");
  t.match(stated, "\nnote: --mode=selectors contradicts the Deployments: carm in ack-system/ack-s3\n");
});
