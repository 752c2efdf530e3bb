import { onCluster } from "../../apiserver/on-cluster.ts";
import { until } from "../../apiserver/until.ts";
import { FACTS } from "./facts.ts";
import { installCAPA } from "./installed-capa.ts";
import { create, outcomeOf, patch, refTo, role, ROLES, send } from "./objects.ts";

const PAIRS = 5;
const STATUS = { denied: "422", warned: "20[01]", "rejected by the schema": "422" } as const;

onCluster("the faults that shipped CAPA admits, on a real API server", async (t, cluster) => {
  await installCAPA(t, cluster);
  for (const { fact, change, verdict, message } of FACTS) {
    const { method, path } = change;
    await t.test(`${fact}: ${method} ${path} is ${verdict}`, async (tt) => {
      const outcome = outcomeOf(await send(cluster, { ...change, path: `${path}?dryRun=All` }));
      tt.match(outcome, new RegExp(`^${STATUS[verdict]} `));
      tt.match(outcome, message);
      tt.equal(outcome.includes("denied the request"), verdict === "denied", outcome);
    });
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
