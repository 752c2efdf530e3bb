import { test } from "tap";
import { readSettings } from "../../../shared/server/settings.ts";
import { faultsOf } from "./settings-faults.ts";

test("a Lease requires a cluster", (t) => {
  const webhook = { cluster: "true", tlsDir: "x" };
  t.same(faultsOf("webhook", { from: ["x"], tlsDir: "x", lease: "a/b" }), ["--lease: requires --cluster"]);
  t.same(faultsOf("webhook", { ...webhook, lease: "b" }), [
    "--lease: expected NAMESPACE/NAME of a Lease, such as ack-role-resolver/ack-role-resolver-webhook",
  ]);
  t.end();
});

test("the namespaces of the controller identity are names, and can be empty", (t) => {
  const webhook = { cluster: "true", tlsDir: "x", lease: "a/b" };
  const on = { ...webhook, autoControllerIdentity: true };
  t.match(readSettings("webhook", on, {}), { autoControllerIdentity: true, controllerIdentityNamespaces: [] });
  t.match(readSettings("webhook", { ...on, controllerIdentityNamespaces: ["a,b", "c"] }, {}), {
    controllerIdentityNamespaces: ["a", "b", "c"],
  });
  for (const name of ["*", "team-*", "A", "", "a/b"]) {
    const [fault = "", ...others] = faultsOf("webhook", { ...on, controllerIdentityNamespaces: [name] });
    t.equal(others.length, 0);
    t.match(fault, `--controller-identity-namespaces ${JSON.stringify(name)}: expected a namespace name of up to 63`);
    t.match(fault, "CAPA has no wildcard for names, so list each namespace");
  }
  t.same(faultsOf("webhook", { cluster: "true", tlsDir: "x", autoControllerIdentity: true }), [
    "--auto-controller-identity: requires --lease",
  ]);
  for (const [command, flags] of [["webhook", webhook], ["manifests", {}]] as const) {
    t.same(faultsOf(command, { ...flags, controllerIdentityNamespaces: ["a"] }), [
      "--controller-identity-namespaces: requires --auto-controller-identity",
    ]);
  }
  t.end();
});
