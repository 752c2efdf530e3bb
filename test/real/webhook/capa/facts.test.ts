// The unit tests of the checks test the verdicts and the messages. This file shows what reaches the webhook through the
// CRDs of CAPA: each kind and version, and the objects after pruning and defaulting.
import { REFERRER_KINDS } from "../../../../shared/core/capa-kinds.ts";
import { onCluster } from "../../apiserver/on-cluster.ts";
import { until } from "../../apiserver/until.ts";
import { installCAPA } from "./installed-capa.ts";
import {
  allowing, type Change, collection, CONTROLLERS, create, outcomeOf, patch, referrer, refTo, remove, role, ROLES, send,
  specOf, STATICS,
} from "./objects.ts";

const PAIRS = 5;
const V1BETA1 = { apiVersion: "infrastructure.cluster.x-k8s.io/v1beta1" };
const PRUNED = {
  annotations: {
    "kubectl.kubernetes.io/last-applied-configuration": '{"spec":{"allowedNamespaces":{"namespaces":["x"]}}}',
  },
};
const UNKNOWN = { kind: "AWSClusterIdentityIdentity", name: "a" };

/** A change that shipped CAPA admits, and its outcome. Each change is a dry run. */
const CASES: Readonly<Record<string, readonly [change: Change, outcome: RegExp]>> = {
  ...Object.fromEntries(REFERRER_KINDS.flatMap(({ kind }) => [
    [`${kind}: a removed reference`, [
      patch(`${collection(kind)}/used`, { spec: specOf(kind, null) }), /^422 .*denied the request.*AC-04 /,
    ]],
    [`${kind}: a reference to an unknown kind`, [
      create(collection(kind), referrer(kind, "new", UNKNOWN)), /^422 .*denied the request.*AC-00 /,
    ]],
  ] as const)),
  "a cluster in version v1beta1": [
    create(collection("AWSCluster", "team-a", "v1beta1"), { ...referrer("AWSCluster", "new", UNKNOWN), ...V1BETA1 }),
    /^422 .*denied the request.*AC-00 /,
  ],
  "an identity in version v1beta1": [
    create(ROLES.replace("v1beta2", "v1beta1"), { ...role("new", { roleARN: "x" }), ...V1BETA1 }),
    /^422 .*denied the request.*CI-20 /,
  ],
  "a Secret that is set later": [
    patch(`${STATICS}/without-secret`, { spec: { secretRef: "creds" } }), /^422 .*denied the request.*CI-11 /,
  ],
  "a list that is null": [create(ROLES, allowing({ list: null })), /^201 .*CI-04 .* CI-04 fix: /],
  "a selector that is empty": [create(ROLES, allowing({ list: null, selector: {} })), /^201 .*CI-02 .* CI-02 fix: /],
  "a misspelled key, which the API server prunes": [
    create(ROLES, allowing({}, PRUNED)), /^422 .*denied the request.*CI-09 .*"namespaces" was pruned/,
  ],
  "a list in place of an object, which the schema rejects": [
    create(ROLES, allowing(["test"])), /^422 (?!.*denied the request).*allowedNamespaces/,
  ],
  "an identity in use": [remove(`${ROLES}/used`), /^422 .*denied the request.*CI-31 /],
  "the controller identity in use": [remove(`${CONTROLLERS}/default`), /^422 .*denied the request.*CI-31 /],
};

onCluster("the faults that shipped CAPA admits, on a real API server", async (t, cluster) => {
  await installCAPA(t, cluster);
  for (const [name, [change, outcome]] of Object.entries(CASES)) {
    t.match(outcomeOf(await send(cluster, { ...change, path: `${change.path}?dryRun=All` })), outcome, name);
  }
  await t.test("at most one of two updates that form a cycle is admitted, also at the same time", async (tt) => {
    for (let i = 0; i < PAIRS; i++) {
      const [a, b] = [`left-${i}`, `right-${i}`];
      await Promise.all([a, b].map((name) => send(cluster, create(ROLES, role(name)))));
      const isWatched = async (): Promise<boolean> => {
        const both = create(`${ROLES}?dryRun=All`, role("new", { sourceIdentityRef: refTo(b) }));
        return !outcomeOf(await send(cluster, both)).includes("CI-26");
      };
      tt.ok(await until(isWatched));
      const outcomes = await Promise.all([[a, b], [b, a]].map(async ([name = "", source = ""]) => (
        outcomeOf(await send(cluster, patch(`${ROLES}/${name}`, { spec: { sourceIdentityRef: refTo(source) } })))
      )));
      tt.equal(outcomes.filter((outcome) => outcome.startsWith("200")).length, 1, outcomes.join("\n"));
      tt.equal(outcomes.filter((outcome) => /^422 .*CI-25 .*form a cycle/.test(outcome)).length, 1);
    }
  });
});
