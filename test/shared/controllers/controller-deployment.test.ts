import { test } from "tap";
import {
  type ControllerDeployment, readControllers, roleSourceOf,
} from "../../../shared/controllers/controller-deployment.ts";
import { controllerDeployment, gatedDeployment } from "../../fixtures/controllers.ts";
import { IMAGE } from "../../fixtures/pods.ts";
import { testRows } from "../rows.ts";

const BY_HAND = ["--aws-region=a", "--aws-endpoint-url=", "--resource-tags=a=b"];

/** Returns the only controller of a Deployment. */
function controllerOf(object: ReturnType<typeof controllerDeployment>): ControllerDeployment {
  const { controllers: [controller, ...others] } = readControllers([object], "ack-system");
  if (controller === undefined || others.length > 0) throw new Error("the Deployment has not exactly one controller");
  return controller;
}

/** Returns the gates that are on, or why they are unknown; the same for CARM and the watched namespaces. */
function settingsOf(parts: Parameters<typeof controllerDeployment>[0]): string[] {
  const { gates, enableCARM, watchNamespaces } = controllerOf(controllerDeployment(parts));
  const on = Object.entries(gates.value ?? {}).flatMap(([gate, isOn]) => (isOn ? [gate] : []));
  const { value: namespaces, unknown } = watchNamespaces;
  return [
    gates.unknown ?? String(on), String(enableCARM.value ?? enableCARM.unknown), unknown ?? String(namespaces),
  ];
}

const TEAM = "TeamLevelCARM";
const OPAQUE = "the command or an argument of its container is unknown";
const ELSEWHERE = "the value of --feature-gates is not in the Deployment";
const fromSecret = { name: "FEATURE_GATES", valueFrom: { secretKeyRef: { name: "s", key: "k" } } };

testRows("reads the flags of a controller as spf13/pflag does", settingsOf, [
  ["no gates, as in charts of 2023", {}, "", "true", ""],
  ["the variables of the charts", {
    args: ["--feature-gates", "$(FEATURE_GATES)", "--enable-carm=false"],
    env: [{ name: "FEATURE_GATES", value: "IAMRoleSelector=true,ReadOnlyResources=true,TeamLevelCARM=false" }],
  }, "IAMRoleSelector", "false", ""],
  ["one argument, spaces, and every form of a boolean of Go",
    { args: ["--feature-gates=TeamLevelCARM=T, ServiceLevelCARM = 1,A=0", "--enable-carm=F", "--watch-namespace=a,b"] },
    "TeamLevelCARM,ServiceLevelCARM", "false", "a,b"],
  ["the last value of a flag", { args: ["--feature-gates=TeamLevelCARM=true", "--feature-gates="] }, "", "true", ""],
  ["a boolean takes no argument, and arguments after -- are no flags",
    { args: ["--enable-carm", "false", "-x", "--", "--enable-carm=false"] }, "", "true", ""],
  ["an unknown flag without a value does not hide the next flag",
    { args: ["--enable-something", "--feature-gates", "TeamLevelCARM=true"] }, TEAM, "true", ""],
  ["nor does it hide one with an unknown value", { args: ["--enable-something", "--feature-gates=$(GATES)"] },
    ELSEWHERE, "true", ""],
  ["variables of variables, an escaped reference, and the last of two variables", {
    args: ["--feature-gates=$(GATES)", "--watch-namespace=$$(NS)"],
    env: [
      { name: "ON", value: "false" }, { name: "ON", value: "true" }, { name: "GATES", value: "TeamLevelCARM=$(ON)" },
    ],
  }, TEAM, "true", "$(NS)"],
  ["a value in a Secret", { args: ["--feature-gates", "$(FEATURE_GATES)"], env: [fromSecret] }, ELSEWHERE, "true", ""],
  ["a value that envFrom may set", { args: ["--feature-gates=$(GATES)"] }, ELSEWHERE, "true", ""],
  ["a flag without the value that it needs", { args: ["--feature-gates"] }, ELSEWHERE, "true", ""],
  ["an argument that could be any flag", { args: ["$(MORE)"] }, OPAQUE, OPAQUE, OPAQUE],
  ["a shell", { container: { command: ["/bin/sh", "-c"], args: ["./bin/controller", "--enable-carm=false"] } },
    OPAQUE, OPAQUE, OPAQUE],
  ["no command, so the program of the image", { container: { command: null, args: ["--enable-carm=false"] } },
    "", "false", ""],
  ["values with which the controller exits",
    { args: ["--feature-gates=TeamLevelCARM", "--enable-carm=no", "--watch-namespace=a,"] },
    '--feature-gates is "TeamLevelCARM", with which the controller exits at its start',
    '--enable-carm is "no", with which the controller exits at its start',
    '--watch-namespace is "a,", with which the controller exits at its start'],
  ["a gate with an unknown value", { args: ["--feature-gates=TeamLevelCARM=maybe"] }, /exits at its start/, "true", ""],
]);

test("variables that multiply the length of a value are unknown, and cost little", (t) => {
  const names = Array.from({ length: 5_000 }, (_, i) => ({ name: `V${i}`, value: `$(V${i - 1})`.repeat(1_000) }));
  const env = [{ name: "V-1", value: "x".repeat(9_000) }, ...names];
  t.equal(settingsOf({ env, args: ["--feature-gates=$(V4999)"] })[0], ELSEWHERE);
  t.equal(settingsOf({ args: [`--feature-gates=${"x".repeat(20_000)}`] })[0], ELSEWHERE);
  t.end();
});

test("states where a controller finds roles", (t) => {
  const sourceOf = (gates: string, carm: boolean, namespaces = ""): unknown => (
    roleSourceOf(controllerOf(gatedDeployment(gates, carm, { args: [`--watch-namespace=${namespaces}`] })))
  );
  t.equal(sourceOf("IAMRoleSelector=true", false), "selectors");
  t.equal(sourceOf("IAMRoleSelector=true", true), "exits");
  t.equal(sourceOf("", true, "a,b"), "carm");
  t.equal(sourceOf("", true, "a"), "own");
  t.equal(sourceOf("", false), "own");
  t.equal(sourceOf("?", true), null);
  t.equal(roleSourceOf(controllerOf(controllerDeployment({ args: ["--enable-carm=?"] }))), null);
  t.equal(roleSourceOf(controllerOf(controllerDeployment({ args: ["--watch-namespace=,"] }))), null);
  t.end();
});

test("finds controllers by their image or by the flags of all charts, and only in the system namespace", (t) => {
  const other = (args: readonly string[]): object => ({ image: "registry.example.com/ack/s3:1", args });
  const loadBalancers = ["--aws-region=a", "--watch-namespace=", "--feature-gates=A=true", "--cluster-name=c"];
  const { controllers, others, unread } = readControllers([
    controllerDeployment({ name: "b", container: other(BY_HAND) }),
    controllerDeployment({ name: "a", container: { args: [] } }),
    controllerDeployment({ name: "lb", container: other(loadBalancers) }),
    controllerDeployment({ namespace: "team-a" }),
    { ...controllerDeployment({ name: "s" }), kind: "StatefulSet" },
    { apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "x", namespace: "ack-system" } },
    { apiVersion: "v1", kind: "Pod", metadata: {}, spec: { containers: [{ image: IMAGE }] } },
  ], "ack-system");
  t.same(controllers.map(({ name }) => name), ["ack-system/a", "ack-system/b"]);
  t.same([others, unread], [["team-a/ack-s3"], null]);
  t.end();
});

test("does not read a Deployment that exceeds the limits of an object", (t) => {
  const args = Array.from({ length: 20_000 }, () => "$(A)");
  const { gates, region, credentials } = controllerOf(controllerDeployment({ args }));
  const reading = { value: null, unknown: "the object has more than 20000 values" };
  t.same([gates, region, credentials], [reading, reading, { used: "unknown", roleARN: null, ignored: [] }]);
  t.end();
});
