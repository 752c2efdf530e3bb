import { test } from "tap";
import { ACK_GROUPS } from "../../shared/decisions/kubernetes/ack-groups.ts";
import { runCommand } from "./run-command.ts";

const MAP = `apiVersion: v1
kind: ConfigMap
metadata: {name: ack-role-account-map, namespace: ack-system}
data: {"111122223333": "arn:aws:iam::111122223333:role/a", blue: "arn:aws:iam::444455556666:role/b"}
---
`;
/** The number of pairs for a number of namespaces, an unknown one included. */
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

test("prints manifests on standard output and the proof on standard error", async (t) => {
  const { status, stdout, stderr } = await runCommand(["migrate", "carm", "-"], {
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
    `1 IAMRoleSelector. Proved: 1 resource and ${pairs(3)} namespace and kind pairs resolve to the same role before and after.
Selectors cannot express:
  ConfigMap ack-system/ack-role-account-map, key "blue": no namespace names it, so there is nothing for a selector to select
    fix: nothing, unless a namespace is to name it: annotate that first and run this again
  namespaces that are created later with an owner or a team annotation: selectors name the namespaces that there are, so a new one gets the controller's own role, whatever its annotations say
    fix: add its name to the selector of its role before anything is created in it, or replace the names by namespaceSelector.labelSelector on a label that only administrators set
Migration steps, in this order:
  1. Keep CARM as it is, its maps and annotations too, and apply the selectors: kubectl apply --server-side -f selectors.yaml. While the feature gate IAMRoleSelector is off no controller reads them.
  2. Then turn the gate on and CARM off in ONE rollout of each controller: helm upgrade RELEASE CHART --reuse-values --set featureGates.IAMRoleSelector=true --set enableCARM=false. A controller with both on exits at its start; one with both off puts new resources into its own account. It must be installed with installScope=cluster, since nothing else lets it read selectors.
  3. Verify: ack-role-resolver resolve --cluster and ack-role-resolver audit --cluster. Controllers look at a resource again when it changes, else within their resync period (10 hours).
  4. Only then remove the annotations services.k8s.aws/owner-account-id and services.k8s.aws/team-id, and last the maps: until then turning both settings back, in one rollout again, undoes the switch. services.k8s.aws/default-region and endpoint-url stay: they are read as before.
`,
  );
});

test("exits 1 and first reports a refusal that would become the controller's own role", async (t) => {
  const { status, stderr } = await runCommand(["migrate", "carm", "-"], {
    stdin: MAP + namespace("one", "999900001111"),
  });
  t.equal(status, 1);
  t.equal(
    stderr.split("\n").slice(0, 3).join("\n"),
    `0 IAMRoleSelectors. Not proved: of 0 resources and ${pairs(2)} namespace and kind pairs, these resolve to a different role after the migration:
  every resource in namespace "one": refused before, the controller's own role after: a stop would become the controller's own account (ConfigMap ack-system/ack-role-account-map has no key 999900001111)
    fix: give the key its role in the map, or take the annotation off the namespace where the controller's own role is meant, and run this again`,
  );
  t.match(
    stderr,
    "  1. Decide each difference above and run this again, until there is none: nothing below is safe before.\n",
  );
});

test("JSON contains the selectors, the proof, what selectors cannot express and the steps", async (t) => {
  const { status, stdout, stderr } = await runCommand(["migrate", "carm", "-", "-o", "json"], {
    stdin: MAP + namespace("one", "blue") + namespace("two", "999900001111"),
  });
  t.equal(status, 1);
  t.equal(stderr, "");
  const printed: unknown = JSON.parse(stdout);
  t.same(Object.keys(printed ?? {}), ["selectors", "proof", "inexpressible", "refusals", "steps"]);
  t.match(printed, {
    selectors: [
      {
        metadata: { name: "blue" },
        spec: { arn: "arn:aws:iam::444455556666:role/b", namespaceSelector: { names: ["one"] } },
      },
    ],
    proof: {
      resources: 0,
      pairs: pairs(3),
      differences: [
        {
          namespace: "two",
          groups: ["*"],
          before: { outcome: "refused", code: "ERR_CARM_KEY_MISSING" },
          after: { outcome: "default" },
        },
      ],
    },
    inexpressible: [{ subject: /key "111122223333"$/ }, { subject: /^namespaces that are created later/ }],
    refusals: [],
    steps: [/^Decide each difference/, /^Keep CARM/, /ONE rollout/, /^Verify/, /^Only then/],
  });
});

test("the controllers' own account is that of --controller-account, otherwise of --controller-role", async (t) => {
  const stdin = `${MAP}apiVersion: v1\nkind: Namespace\nmetadata: {name: one}\n---\n${bucket("one", "999900001111")}`;
  t.equal((await runCommand(["migrate", "carm", "-"], { stdin })).status, 1);
  t.equal((await runCommand(["migrate", "carm", "-", "--controller-account", "999900001111"], { stdin })).status, 0);
  t.equal(
    (await runCommand(["migrate", "carm", "-", "--controller-role", "arn:aws:iam::999900001111:role/ack"], { stdin }))
      .status,
    0,
  );
  t.equal(
    (await runCommand(["migrate", "carm", "-", "--controller-role", "arn:aws:iam::999900001112:role/ack"], { stdin }))
      .status,
    1,
  );
});

test("exits 1 with each generated selector that the webhook would deny", async (t) => {
  const stdin = MAP + namespace("one", "blue");
  t.equal((await runCommand(["migrate", "carm", "-", "--allowed-accounts", "444455556666"], { stdin })).status, 0);
  const { status, stderr } = await runCommand(["migrate", "carm", "-", "--allowed-accounts", "111122223333"], {
    stdin,
  });
  t.equal(status, 1);
  t.match(stderr, "\nThe webhook would deny:\n  IAMRoleSelector blue: IRS-04 spec.arn: ");
});

test("escapes control characters of manifests", async (t) => {
  const { stderr } = await runCommand(["migrate", "carm", "-"], {
    stdin: `${MAP}${MAP.replace("ack-system", '"x\\e[2J"')}${namespace("one", "blue")}`,
  });
  t.match(stderr, "ConfigMap x\\u001b[2J/ack-role-account-map: ");
  t.notMatch(stderr, "\u001b");
});

test("uses the feature gates of the flags", async (t) => {
  const stdin = `${MAP}apiVersion: v1
kind: ConfigMap
metadata: {name: ack-role-team-map, namespace: ack-system}
data: {green: "arn:aws:iam::111122223333:role/green", s3.green: "arn:aws:iam::111122223333:role/s3"}
---
apiVersion: v1
kind: Namespace
metadata: {name: one, annotations: {services.k8s.aws/team-id: green}}
`;
  const roles = async (...flags: readonly string[]): Promise<readonly string[]> =>
    [...(await runCommand(["migrate", "carm", "-", ...flags], { stdin })).stdout.matchAll(/arn: .*\/(.*)/g)].map(
      ([, role = ""]) => role,
    );
  t.same(await roles(), []);
  t.same(await roles("--service-level-carm"), []);
  t.same(await roles("--team-level-carm"), ["green"]);
  t.same(await roles("--team-level-carm", "--service-level-carm"), ["green", "s3"]);
});

test("reads the maps in --ack-system-namespace", async (t) => {
  const stdin = MAP.replace("ack-system", "aws") + namespace("one", "blue");
  t.equal((await runCommand(["migrate", "carm", "-"], { stdin })).status, 1);
  t.equal((await runCommand(["migrate", "carm", "-", "--ack-system-namespace", "aws"], { stdin })).status, 0);
});

test("exits 2 without data for unreadable input and invalid flags", async (t) => {
  const unreadable = await runCommand(["migrate", "carm", t.testdir({ "a.yaml": MAP, "b.json": "{" })]);
  t.equal(unreadable.status, 2);
  t.equal(unreadable.stdout, "");
  t.match(unreadable.stderr, /b\.json:\d+: /);
  t.match(await runCommand(["migrate", "carm"]), { status: 2, stdout: "", stderr: /no manifests/ });
  t.match(
    await runCommand(
      ["migrate", "carm", "-", "--extra-groups", "s3.services.k8s.aws", "--extra-groups", "apps.example.com"],
      { stdin: MAP },
    ),
    {
      status: 2,
      stdout: "",
      stderr:
        "ack-role-resolver: --extra-groups apps.example.com: expected ACK API groups, which end in .services.k8s.aws\n",
    },
  );
  t.match(await runCommand(["migrate", "carm", "-", "--mode", "carm"], { stdin: MAP }), {
    status: 2,
    stderr: /unknown option '--mode'/,
  });
});
