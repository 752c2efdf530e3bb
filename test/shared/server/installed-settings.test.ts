import { test } from "tap";
import { completed, differences, installedSettings } from "../../../shared/server/installed-settings.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";

const deployment = (...containers: readonly object[]): JsonObject => ({
  apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "w", namespace: "n" },
  spec: { template: { spec: { containers } } },
});
const webhook = (args: readonly string[], env: readonly object[] = []): JsonObject => (
  deployment({ name: "proxy", args: ["--mode=carm"] }, { name: "webhook", args: ["webhook", ...args], env })
);

test("reads the flags and variables of the webhook's container", (t) => {
  const args = [
    "--cluster", "--mode", "carm", "--check=ACK-05=deny", "--check", "FE-03=off", "--region=a", "--region=b", "--new=x",
    "--controller-users=system:*", "--controller-account",
  ];
  const env = [
    { name: "ACK_ROLE_RESOLVER_RUNTIME", value: "ack" }, { name: "ACK_ROLE_RESOLVER_REGION", value: "$(REGION)" },
    { name: "ACK_ROLE_RESOLVER_PROFILE", valueFrom: { secretKeyRef: { name: "s", key: "k" } } },
  ];
  t.same(installedSettings(webhook(args, env)), {
    flags: {
      cluster: true, mode: "carm", check: ["ACK-05=deny", "FE-03=off"], region: "b", controllerUsers: ["system:*"],
      controllerAccount: "",
    },
    environment: { ACK_ROLE_RESOLVER_RUNTIME: "ack" },
  });
  t.equal(installedSettings(deployment({ name: "a", args: ["sidecar"] })), null, "another program");
  t.equal(installedSettings({ apiVersion: "apps/v1", kind: "Deployment", metadata: {} }), null, "no Pod");
  t.end();
});

test("completes what the user does not state, of the settings that the command has", (t) => {
  const installed = {
    flags: {
      controllerAccount: "1", profile: "strict", check: ["A=deny", "B=off"], controllerUsers: ["a,b"], listen: "x",
    },
    environment: { ACK_ROLE_RESOLVER_MODE: "carm", ACK_ROLE_RESOLVER_REGION: "r" },
  };
  const given = { flags: { profile: "observe" }, environment: { ACK_ROLE_RESOLVER_REGION: "own" } };
  t.same(completed("audit", given, installed), {
    flags: { profile: "observe", controllerUsers: ["a,b"] },
    environment: {
      ACK_ROLE_RESOLVER_CONTROLLER_ACCOUNT: "1", ACK_ROLE_RESOLVER_CHECK: "A=deny,B=off",
      ACK_ROLE_RESOLVER_MODE: "carm", ACK_ROLE_RESOLVER_REGION: "own",
    },
  });
  const byVariable = { flags: {}, environment: { ACK_ROLE_RESOLVER_CONTROLLER_USERS: "a,b" } };
  const nothing = { flags: {}, environment: {} };
  t.same(completed("audit", nothing, byVariable).flags, { controllerUsers: ["a", "b"] });
  const ofTrust = completed("trust", nothing, { flags: { mode: "carm", runtime: "extended" }, environment: {} });
  t.same(ofTrust, { flags: {}, environment: { ACK_ROLE_RESOLVER_RUNTIME: "extended" } }, "trust has no mode");
  t.end();
});

test("names the settings that differ", (t) => {
  const stated = { mode: null, profile: "enforce", check: [], output: "text" };
  t.same(differences(stated, { mode: "carm", profile: "enforce", check: ["A=off", "B=deny"], output: "json" }),
    ["--mode=carm", "--check=A=off,B=deny"]);
  t.end();
});
