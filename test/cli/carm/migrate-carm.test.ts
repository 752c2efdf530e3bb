import { test } from "tap";
import { ACK_GROUPS } from "../../../shared/core/ack-groups.ts";
import { gatedDeployment } from "../../fixtures/controllers.ts";
import { runCommand } from "../run-command.ts";

const MAP = `apiVersion: v1
kind: ConfigMap
metadata: {name: ack-role-account-map, namespace: ack-system}
data: {"111122223333": "arn:aws:iam::111122223333:role/a", blue: "arn:aws:iam::444455556666:role/b"}
---
`;
/**
 * Returns the number of pairs of a namespace and a kind that the proof compares. `namespaces` counts the unknown
 * namespace too.
 */
const pairs = (namespaces: number): number => namespaces * (ACK_GROUPS.length + 1);
const namespace = (name: string, owner: string): string => `apiVersion: v1
kind: Namespace
metadata: {name: ${name}, annotations: {services.k8s.aws/owner-account-id: "${owner}"}}
---
`;
const bucket = (where: string, account: string): string => `apiVersion: s3.services.k8s.aws/v1alpha1
kind: Bucket
metadata: {name: b1, namespace: ${where}}
status: {ackResourceMetadata: {ownerAccountID: "${account}", arn: "arn:aws:s3:::b1"}}
---
`;

/** States that the controllers have no feature gate of CARM. */
const MIGRATE = ["migrate", "carm", "-", "--team-level-carm=false", "--service-level-carm=false"];

test("prints the manifests on standard output, and the proof that roles stay the same on standard error", async (t) => {
  const { status, stdout, stderr } = await runCommand([...MIGRATE], {
    stdin: MAP + namespace("one", "111122223333") + namespace("two", "111122223333") + bucket("one", "111122223333"),
  });
  t.equal(status, 0);
  t.equal(stdout, `---
apiVersion: services.k8s.aws/v1alpha1
kind: IAMRoleSelector
metadata:
  name: account-111122223333
spec:
  arn: arn:aws:iam::111122223333:role/a
  namespaceSelector:
    names:
      - one
      - two
`);
  t.equal(
    stderr,
    `1 IAMRoleSelector. Proved: 1 resource and ${pairs(3)} namespace and kind pairs resolve to the same role before \
and after.
Feature gates: TeamLevelCARM off, ServiceLevelCARM off, as the flags state.
Selectors cannot express these cases:
  ConfigMap ack-system/ack-role-account-map, key "blue": no namespace annotation names the account or team, so \
a selector would select no resources
    fix: if a namespace needs this role, annotate the namespace and run the command again
  namespaces that are created later with an owner or a team annotation: the selectors list the existing namespaces; \
resources in a new namespace use the controller's own role, even if the namespace has such an \
annotation
    fix: add a new namespace to the selector of its role before you create resources in it, or replace the names by \
namespaceSelector.labelSelector with a label that only administrators can set
Migration steps, in this order:
  1. Keep CARM with its maps and annotations, and apply the selectors: kubectl apply --server-side -f selectors.yaml. \
Controllers do not read selectors while the feature gate IAMRoleSelector is off.
  2. Turn the gate IAMRoleSelector on and CARM off in ONE rollout of each controller: helm upgrade RELEASE CHART \
--reuse-values --set featureGates.IAMRoleSelector=true --set enableCARM=false. A controller exits at startup if the \
gate and CARM are both on. A controller creates new resources in its own account if the gate and CARM are both off. \
Controllers need installScope=cluster, otherwise they cannot read selectors.
  3. Verify: ack-role-resolver resolve --cluster and ack-role-resolver audit --cluster. Controllers reconcile a \
resource when it changes, or after their resync period (10 hours).
  4. Remove the annotations services.k8s.aws/owner-account-id and services.k8s.aws/team-id, and the maps last. Until \
then you can roll back: turn the gate off and CARM on in one rollout. Keep services.k8s.aws/default-region and \
endpoint-url: controllers still read these annotations.
`,
  );
});

test("exits 1 if a namespace without a role in CARM would use the controller's own role", async (t) => {
  const { status, stderr } = await runCommand([...MIGRATE], {
    stdin: MAP + namespace("one", "999900001111"),
  });
  t.equal(status, 1);
  t.equal(
    stderr.split("\n").slice(0, 3).join("\n"),
    `0 IAMRoleSelectors. The proof failed: of 0 resources and ${pairs(2)} namespace and kind pairs, the following \
resolve to a different role after the migration:
  every resource in namespace "one": refused before, the controller's own role after: with CARM, controllers do \
not reconcile these resources (ConfigMap ack-system/ack-role-account-map has no key "999900001111"); without a \
selector, controllers use their own role for these resources
    fix: set the role of the key in the map, or remove the annotation from the namespace to use the controller's own \
role. Then run the command again`,
  );
  t.match(
    stderr,
    "  1. Resolve every difference above and run the command again before you continue.\n",
  );
});

test("JSON output contains the selectors, the proof, the unsupported CARM features and the steps", async (t) => {
  const stdin = MAP + namespace("one", "blue");
  const { stdout } = await runCommand([...MIGRATE, "-o", "json"], { stdin });
  t.match(JSON.parse(stdout), {
    selectors: [{ metadata: { name: "blue" } }], proof: { differences: [] }, inexpressible: [{}, {}], refusals: [],
    steps: [/^Keep CARM/, /ONE rollout/, /^Verify/, /^Remove/],
  });
});

test("uses --controller-account as the controllers' account, or the account of --controller-role", async (t) => {
  const stdin = `${MAP}apiVersion: v1\nkind: Namespace\nmetadata: {name: one}\n---\n${bucket("one", "999900001111")}`;
  t.equal((await runCommand([...MIGRATE], { stdin })).status, 1);
  t.equal((await runCommand([...MIGRATE, "--controller-account", "999900001111"], { stdin })).status, 0);
  t.equal(
    (await runCommand([...MIGRATE, "--controller-role", "arn:aws:iam::999900001111:role/ack"], { stdin }))
      .status,
    0,
  );
  t.equal(
    (await runCommand([...MIGRATE, "--controller-role", "arn:aws:iam::999900001112:role/ack"], { stdin }))
      .status,
    1,
  );
});

test("exits 1 and lists each generated selector that the webhook would deny", async (t) => {
  const stdin = MAP + namespace("one", "blue");
  t.equal((await runCommand([...MIGRATE, "--allowed-accounts", "444455556666"], { stdin })).status, 0);
  const { status, stderr } = await runCommand([...MIGRATE, "--allowed-accounts", "111122223333"], {
    stdin,
  });
  t.equal(status, 1);
  t.match(stderr, "\nThe webhook would deny these selectors:\n  IAMRoleSelector blue: IRS-04 spec.arn: ");
});

test("escapes control characters that the manifests contain", async (t) => {
  const { stderr } = await runCommand([...MIGRATE], {
    stdin: `${MAP}${MAP.replace("ack-system", '"x\\e[2J"')}${namespace("one", "blue")}`,
  });
  t.match(stderr, "ConfigMap x\\u001b[2J/ack-role-account-map: ");
  t.notMatch(stderr, "\u001b");
});

const team = `apiVersion: v1
kind: Namespace
metadata: {name: one, annotations: {services.k8s.aws/team-id: green}}
---
`;
const manifest = (object: object): string => `${JSON.stringify(object)}\n---\n`;

const TEAM_MAP = `apiVersion: v1
kind: ConfigMap
metadata: {name: ack-role-team-map, namespace: ack-system}
data: {green: "arn:aws:iam::111122223333:role/green", s3.green: "arn:aws:iam::111122223333:role/s3"}
---
`;

test("uses the feature gates that the flags set", async (t) => {
  const stdin = MAP + TEAM_MAP + team;
  const roles = async (...flags: readonly string[]): Promise<readonly string[]> =>
    [...(await runCommand(["migrate", "carm", ...flags, "-"], { stdin })).stdout.matchAll(/arn: .*\/(.*)/g)].map(
      ([, role = ""]) => role,
    );
  t.same(await roles("--team-level-carm=false", "--service-level-carm"), []);
  t.same(await roles("--team-level-carm", "--service-level-carm=false"), ["green"]);
  t.same(await roles("--team-level-carm", "--service-level-carm"), ["green", "s3"]);
});

test("generates nothing and exits 1 while the feature gates are unknown or contradict the Deployments", async (t) => {
  const unknown = await runCommand(["migrate", "carm", "-"], { stdin: MAP + team });
  t.match(unknown, { status: 1, stdout: "" });
  t.equal(unknown.stderr.split("\n").slice(0, 3).join("\n"),
    `ack-role-resolver: no selectors are generated, because it is not certain which roles the controllers use now:
  it is unknown whether the feature gate TeamLevelCARM is on: no Deployment of an ACK controller was found in \
namespace ack-system
    fix: pass --team-level-carm=true or --team-level-carm=false, as the controllers are configured, or add their \
Deployments to the input and set --ack-system-namespace to their namespace`);
  const stdin = MAP + team + manifest(gatedDeployment("TeamLevelCARM=true"));
  const contradiction = await runCommand([...MIGRATE, "-o", "json"], { stdin });
  t.match(contradiction, { status: 1, stdout: "", stderr: /--team-level-carm=false, but TeamLevelCARM is on in / });
});

test("reads the feature gates from the Deployments, and names those outside the system namespace", async (t) => {
  const stdin = MAP + team + TEAM_MAP + manifest(gatedDeployment("TeamLevelCARM=true"))
    + manifest(gatedDeployment("", true, { namespace: "team-x" }));
  const { status, stdout, stderr } = await runCommand(["migrate", "carm", "-"], { stdin });
  t.equal(status, 0);
  t.match(stdout, "arn: arn:aws:iam::111122223333:role/green\n");
  t.match(stderr, "\nFeature gates: TeamLevelCARM on, ServiceLevelCARM off, as in Deployment ack-system/ack-s3.\n");
  t.match(stderr, "  Deployment team-x/ack-s3: an ACK controller seems to run here, but its feature gates and");
  const json = await runCommand(["migrate", "carm", "-", "-o", "json"], { stdin });
  t.match(JSON.parse(json.stdout), { gates: { TeamLevelCARM: true, ServiceLevelCARM: false } });
});

test("reads the CARM maps in the namespace of --ack-system-namespace", async (t) => {
  const stdin = MAP.replace("ack-system", "aws") + namespace("one", "blue");
  t.equal((await runCommand([...MIGRATE], { stdin })).status, 1);
  t.equal((await runCommand([...MIGRATE, "--ack-system-namespace", "aws"], { stdin })).status, 0);
});

test("exits 2 and prints no result if a flag is invalid", async (t) => {
  t.match(await runCommand(["migrate", "carm"]), { status: 2, stdout: "", stderr: /no manifests/ });
  t.match(
    await runCommand(
      [...MIGRATE, "--extra-groups", "s3.services.k8s.aws", "--extra-groups", "apps.example.com"],
      { stdin: MAP },
    ),
    {
      status: 2,
      stdout: "",
      stderr:
        "ack-role-resolver: --extra-groups apps.example.com: expected an ACK API group, which ends in "
          + ".services.k8s.aws\n",
    },
  );
  t.match(await runCommand([...MIGRATE, "--mode", "carm"], { stdin: MAP }), {
    status: 2,
    stderr: /unknown option '--mode'/,
  });
});

test("exits 1 if the input contains no CARM ConfigMap and no annotated namespace", async (t) => {
  const stdin = "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n";
  for (const flags of [[], ["-o", "json"]]) {
    const { status, stdout, stderr } = await runCommand([...MIGRATE, ...flags], { stdin });
    t.equal(status, 1);
    t.equal(stdout, "");
    t.match(stderr, "the input contains no CARM ConfigMap and no namespace with an account or team annotation");
  }
});
