import { test } from "tap";
import type { KubernetesRequest } from "../../../shared/api/api.ts";
import { field, parseJSON } from "../../../shared/formats/json.ts";
import { AccountRecords } from "../../../sidecar/capa/account-records.ts";
import { FakeClock } from "../fake-clock.ts";

test("writes the accounts that become known during a write with the next one, and logs a fault once", async (t) => {
  const requests: KubernetesRequest[] = [];
  const faults: unknown[] = [];
  let status = 403;
  const clock = new FakeClock();
  const records = new AccountRecords({
    clock, namespace: "capa-system", log: { warn: (details: unknown) => void faults.push(details) },
    api: {
      async request(request) {
        requests.push(request);
        await new Promise<void>((resolve) => clock.schedule(100, resolve));
        return { status, headers: {}, body: (async function* body() { yield Buffer.from("{}"); })() };
      },
    },
  });
  const dataOf = ({ body = "" }: KubernetesRequest): unknown => field(parseJSON(body), "data");
  for (const name of ["a", "b", "c"]) {
    records.record(name, "111122223333", { uid: `uid-${name}`, resourceVersion: "1" });
  }
  records.record("c", "444455556666", { uid: "uid-c", resourceVersion: "2" });
  await clock.advance(1_000);
  t.match(requests[0], {
    method: "PATCH", path: "/api/v1/namespaces/capa-system/configmaps/ack-role-resolver-identity-accounts",
  });
  t.same(requests.map(dataOf), [
    { a: "111122223333 as of uid-a/1" },
    { b: "111122223333 as of uid-b/1", c: "444455556666 as of uid-c/2" },
  ]);
  t.match(faults, [{ fault: /403/, fix: /apply the objects of `manifests rbac/ }], "once");
  status = 200;
  records.record("a", "111122223333", { uid: "uid-a", resourceVersion: "3" });
  await clock.advance(1_000);
  t.equal(faults.length, 1);
  t.equal(requests.length, 3);
});
