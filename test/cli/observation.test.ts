import { type Test, test } from "tap";
import { gatedDeployment } from "../fixtures/controllers.ts";
import { bucketObject, namespaceObject, ROLE, selectorObject } from "../shared/objects.ts";
import { addDenials, dataOfObserved, observedDenial } from "../../shared/server/observed-denials.ts";
import { parseJSON } from "../../shared/formats/json.ts";
import { clusterOf, kubeconfigOf } from "./broken-resources.ts";
import { type CommandResult, runCommand } from "./run-command.ts";

const CONFIGURATION = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/ack-role-resolver";
const OBSERVED = "/api/v1/namespaces/platform/configmaps/ack-role-resolver-observed-denials";
// The command forgets what is older than 7 days of the real clock.
const NOW = Math.floor(Date.now() / 60_000) * 60_000;
const AT = `${new Date(NOW).toISOString().slice(0, 16)}Z`;
const FINE = [
  namespaceObject("team-a"), bucketObject(),
  selectorObject("team-a", { arn: ROLE, namespaceSelector: { names: ["team-a"] } }),
];
const FAULTY = [...FINE, selectorObject("typo", { arn: "x", namespaceSelector: { names: ["team-b"] } })];
const DAY_MS = 86_400_000;
const NOTHING = { sinceMs: NOW - DAY_MS, untilMs: NOW, denials: [], omitted: new Map() };
const denials = ["typo", "typo", ...Array.from({ length: 25 }, (_, i) => `s${i}`)].map((name, i) => observedDenial({
  code: name === "typo" ? "IRS-02" : "IRS-09", user: "alice\u001B", operation: "CREATE", kind: "IAMRoleSelector",
  namespace: name === "typo" ? "" : "team-a", name, message: "not the ARN of a role", lastMs: NOW - i,
}));
const MANY = addDenials(NOTHING, {
  denials, omitted: new Map([["IRS-09", { count: 3, lastMs: NOW }], ["IRS-15", { count: 1, lastMs: NOW }]]),
}, NOW);

interface Observed {
  readonly data?: object;
  readonly profile?: string;
  readonly objects?: typeof FINE;
  readonly status?: number;
  readonly release?: string | null;
}

/** Runs `audit` on a cluster with a webhook of the profile that has observed the data. */
async function auditOf(
  t: Test, { data, profile = "observe", objects = FINE, status, release = "own" }: Observed, argv: readonly string[],
): Promise<CommandResult> {
  const cluster = await clusterOf({ objects, errors: status === undefined ? {} : { [OBSERVED]: { status } } });
  const service = { namespace: "platform", name: "resolver-webhook" };
  cluster.named.set(CONFIGURATION, { webhooks: [{ clientConfig: { service } }] });
  const containers = [{ name: "webhook", args: ["webhook", `--profile=${profile}`] }];
  cluster.named.set("/apis/apps/v1/namespaces/platform/deployments/resolver-webhook", {
    metadata: { annotations: { "meta.helm.sh/release-name": release } },
    spec: { template: { spec: { containers } } },
  });
  cluster.named.set(OBSERVED, { data });
  return await runCommand(["audit", "--cluster", ...argv, "--kubeconfig", kubeconfigOf(t, cluster)]);
}

const ENFORCE = ["--profile", "enforce"];

test("audit says what enforce would have denied, by whom and why, and whether it is safe", async (t) => {
  const audit = (observed: Observed, argv: readonly string[]): Promise<CommandResult> => auditOf(t, observed, argv);
  const some = await audit({ data: dataOfObserved(MANY) }, ENFORCE);
  t.match(some.stdout, /The profile enforce would have denied 31 admissions since \S+Z\n/);
  t.match(some.stdout, `    2  ${AT}  IRS-02  CREATE IAMRoleSelector typo `);
  t.match(some.stdout, / typo +alice\\u001b\n {4}not the ARN/);
  t.match(some.stdout, /CREATE IAMRoleSelector team-a\/s0 /);
  t.match(some.stdout, "and more: IRS-09 9, IRS-15 1\nCorrect these first");
  t.equal(some.status, 1);
  t.equal((await audit({ data: dataOfObserved(MANY) }, [])).status, 0, "a look at observe fails nothing");
  t.match((await audit({ data: dataOfObserved({ ...MANY, denials: [] }) }, ENFORCE)).stdout, "denied 4 admissions");
  const none = await audit({ data: dataOfObserved(NOTHING) }, ENFORCE);
  t.match(none.stdout, / would have denied no admission from \S+Z to \S+Z\.\nIt is safe: helm upgrade own /);
  t.equal(none.status, 0);
  const early = await audit({ data: dataOfObserved({ ...NOTHING, sinceMs: NOW - DAY_MS + 1 }) }, ENFORCE);
  t.match(early.stdout, /\nAsk again after a day with the usual changes\. Then: helm upgrade own /);
  t.equal(early.status, 0);
  const old = { ...MANY, denials: [], omitted: new Map([["IRS-09", { count: 3, lastMs: NOW - 7 * DAY_MS }]]) };
  t.match((await audit({ data: dataOfObserved(old) }, ENFORCE)).stdout, "denied no admission", "what is old is gone");
  const manual = await audit({ data: dataOfObserved(NOTHING), release: null }, ENFORCE);
  t.match(manual.stdout, "It is safe: where you installed the webhook, set --profile=enforce\n");
  const stored = await audit({ data: dataOfObserved(NOTHING), objects: FAULTY }, ENFORCE);
  t.match(stored.stdout,
    /denied no admission .*\nThe stored objects with findings that deny could not be created again/);
  t.equal(stored.status, 1);
  const look = await audit({ data: dataOfObserved(NOTHING), objects: FAULTY }, []);
  t.match(look.stdout, /would deny IRS-02 IAMRoleSelector typo[^]*stored objects with findings that deny/);
  t.equal(look.status, 0);
  t.match((await audit({}, ENFORCE)).stdout, "unknown: the webhook has written nothing yet");
  t.match((await audit({ status: 403 }, ENFORCE)).stdout, /unknown: GET \S+: the API server returned 403/);
  t.notMatch((await audit({ data: dataOfObserved(MANY), profile: "strict" }, ENFORCE)).stdout, /would have/);
  const json = async (observed: Observed): Promise<unknown> => (
    parseJSON((await audit(observed, [...ENFORCE, "-o", "json"])).stdout)
  );
  t.match(await json({ data: dataOfObserved(MANY) }), {
    observed: {
      since: new Date(NOW - DAY_MS).toISOString(), until: new Date(NOW).toISOString(), admissions: 31,
      omitted: { "IRS-15": 1 }, unknown: null,
      denials: [{ code: "IRS-02", count: 2, last: new Date(NOW).toISOString(), name: "typo" }],
    },
  });
  t.match(await json({ status: 403 }), { observed: { since: null, admissions: null, unknown: /403/ } });
  t.match(await json({ profile: "enforce" }), { observed: null });
});

test("audit names the controllers that the webhook does not know", async (t) => {
  const account = { name: "ack-sqs", spec: { serviceAccountName: "ack-sqs" } };
  const objects = [...FINE, gatedDeployment("IAMRoleSelector=true", false, account)];
  const observed = { data: dataOfObserved(NOTHING), objects };
  const { stdout, status } = await auditOf(t, observed, [...ENFORCE, "--controller-users=bot"]);
  t.equal(status, 0);
  t.match(stdout, /can deny their writes: ack-system\/ack-sqs\. Name all controllers first: helm upgrade own /);
  t.notMatch(stdout, "It is safe");
  t.match(stdout, "'settings.controllerUsers={bot,ack-system/ack-sqs}'");
  for (const user of ["ack-system/ack-sqs", "system:serviceaccount:ack-system:ack-*"]) {
    t.notMatch((await auditOf(t, observed, [...ENFORCE, `--controller-users=${user}`])).stdout, "does not know", user);
  }
});
