import { onCluster } from "../../apiserver/on-cluster.ts";
import { FACTS } from "./facts.ts";
import { installCAPA } from "./installed-capa.ts";
import { outcomeOf, send } from "./objects.ts";

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
});
