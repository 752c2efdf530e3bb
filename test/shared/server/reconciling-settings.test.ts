import { test } from "tap";
import { readSettings } from "../../../shared/server/read-settings.ts";
import { runCommand } from "../../cli/run-command.ts";
import { faultsOf } from "./settings-faults.ts";

const WEBHOOK = { cluster: "true", tlsDir: "x" };

test("the namespace of the Lease requires a cluster", (t) => {
  t.equal(readSettings("webhook", WEBHOOK, {}).namespace, null);
  t.same(faultsOf("webhook", { from: ["x"], tlsDir: "x", namespace: "a" }), ["--namespace: requires --cluster"]);
  t.match(faultsOf("webhook", { ...WEBHOOK, namespace: "a/b" }), [/^--namespace: expected a namespace name of up to/]);
  t.end();
});

test("the namespaces of the controller identity are names, or none", (t) => {
  const on = { ...WEBHOOK, namespace: "a" };
  t.match(readSettings("webhook", on, {}), { autoControllerIdentity: [] });
  t.match(readSettings("webhook", { ...on, autoControllerIdentity: ["a,b", "c"] }, {}), {
    autoControllerIdentity: ["a", "b", "c"],
  });
  for (const name of ["*", "team-*", "A", "", "a/b", "true", "false"]) {
    const [fault = "", ...others] = faultsOf("webhook", { ...on, autoControllerIdentity: [name] });
    t.equal(others.length, 0);
    t.match(fault, `--auto-controller-identity ${JSON.stringify(name)}: expected none, or a namespace name`);
    t.match(fault, "CAPA has no wildcard for names, so list each namespace");
  }
  t.same(faultsOf("webhook", { ...WEBHOOK, autoControllerIdentity: ["none"] }), [
    "--auto-controller-identity: requires --namespace",
  ]);
  t.end();
});

test("--auto-controller-identity without a value allows no namespace", async (t) => {
  const { stdout } = await runCommand(["manifests", "deployment", "--auto-controller-identity"]);
  t.match(stdout, "- --auto-controller-identity=none\n");
});

test("removed settings still have an effect if another setting takes over their value", (t) => {
  const { namespace, autoControllerIdentity, controllerUsers, url } = readSettings("webhook", {
    ...WEBHOOK, "--lease": ["platform/ack-role-resolver-webhook"], "--tls-host": ["fd00::1"],
    "--controller-identity-namespaces": ["a,b"], "--controller-service-accounts": ["ack-system/s3, ack-system/iam"],
    controllerUsers: ["jane"],
  }, {});
  t.same([namespace, autoControllerIdentity, url], ["platform", ["a", "b"], "https://[fd00::1]"]);
  t.same(controllerUsers, ["jane", "ack-system/s3", "ack-system/iam"]);
  const environment = { ACK_ROLE_RESOLVER_VERBOSE: "true", ACK_ROLE_RESOLVER_CONTROLLER_SERVICE_ACCOUNTS: "a/b" };
  t.match(readSettings("lint", { from: ["x"] }, environment), { logLevel: "debug", controllerUsers: ["a/b"] });
  t.equal(readSettings("lint", { from: ["x"], logLevel: "info" }, environment).logLevel, "info");
  t.end();
});
