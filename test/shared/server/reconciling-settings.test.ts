import { test } from "tap";
import { ResolverError } from "../../../shared/decisions/errors.ts";
import { type Flags, readSettings } from "../../../shared/server/settings.ts";

function faultsOf(flags: Flags): readonly string[] {
  try {
    readSettings("webhook", flags, {});
    return [];
  } catch (error) {
    if (!(error instanceof ResolverError)) throw error;
    return error.message.split("\n");
  }
}

test("a count is an integer from 1 to 100, and a Lease requires a cluster", (t) => {
  const webhook = { cluster: "true", tlsDir: "x" };
  t.match(readSettings("webhook", { ...webhook, refreshQps: "100" }, {}), { refreshQps: 100, lease: null });
  for (const refreshQps of ["0", "101", "-1", "1.5", "5/s", "0x5", ""]) {
    const fault = "--refresh-qps: expected an integer from 1 to 100";
    t.same(faultsOf({ ...webhook, refreshQps }), [fault], refreshQps);
  }
  t.same(faultsOf({ from: ["x"], tlsDir: "x", lease: "a/b" }), ["--lease: requires --cluster"]);
  t.same(faultsOf({ ...webhook, lease: "b" }), [
    "--lease: expected NAMESPACE/NAME of a Lease, such as ack-role-resolver/ack-role-resolver-webhook",
  ]);
  t.end();
});
