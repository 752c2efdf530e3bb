import { test } from "tap";
import { readSettings } from "../../../shared/server/settings.ts";
import { faultsOf } from "./settings-faults.ts";

test("a count is an integer from 1 to 100, and a Lease requires a cluster", (t) => {
  const webhook = { cluster: "true", tlsDir: "x" };
  t.match(readSettings("webhook", { ...webhook, refreshQps: "100" }, {}), { refreshQps: 100, lease: null });
  for (const refreshQps of ["0", "101", "-1", "1.5", "5/s", "0x5", ""]) {
    const fault = "--refresh-qps: expected an integer from 1 to 100";
    t.same(faultsOf("webhook", { ...webhook, refreshQps }), [fault], refreshQps);
  }
  t.same(faultsOf("webhook", { from: ["x"], tlsDir: "x", lease: "a/b" }), ["--lease: requires --cluster"]);
  t.same(faultsOf("webhook", { ...webhook, lease: "b" }), [
    "--lease: expected NAMESPACE/NAME of a Lease, such as ack-role-resolver/ack-role-resolver-webhook",
  ]);
  t.same(faultsOf("webhook", { ...webhook, policyReports: true }), ["--policy-reports: requires --lease"]);
  t.end();
});
