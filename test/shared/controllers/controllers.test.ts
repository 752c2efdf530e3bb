import { test } from "tap";
import type { Finding } from "../../../shared/core/check.ts";
import { applyEdits, set } from "../../../shared/core/repair.ts";
import { runChecks } from "../../../shared/judges.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { controllerDeployment, gatedDeployment } from "../../fixtures/controllers.ts";
import { SETTINGS_BY_DEFAULT } from "../objects.ts";
import { testRows } from "../rows.ts";

function findingsOf(object: JsonObject): readonly Finding[] {
  const input = { object, old: object, operation: "AUDIT", requester: null, origin: "cluster" } as const;
  return runChecks(input, SETTINGS_BY_DEFAULT).findings;
}

/** Returns `CODE: MESSAGE; FIX` for each finding of an audit. */
function linesOf(object: JsonObject): string[] {
  return findingsOf(object).map(({ code, message, fix }) => `${code}: ${message}; ${fix}`);
}

const watching = (namespaces: string): { readonly args: readonly string[] } => (
  { args: [`--watch-namespace=${namespaces}`] }
);
const OWN_ROLE = "so it uses its own role for every resource";
const FIX = "in the controller's chart, set featureGates.IAMRoleSelector=true, enableCARM=false and "
  + "installScope=cluster";

testRows("AUD-15 reports a controller that reads no roles, or exits", linesOf, [
  ["selectors in all namespaces", gatedDeployment("IAMRoleSelector=true", false)],
  ["CARM in two namespaces", gatedDeployment("", true, watching("a,b"))],
  ["unknown gates", gatedDeployment("?")],
  ["unknown namespaces", gatedDeployment("", true, watching("$(SECRET)"))],
  ["another namespace", gatedDeployment("", false, { namespace: "team-a" })],
  ["another program", controllerDeployment({ container: { image: "nginx", args: [] } })],
  ["selectors and CARM", gatedDeployment("IAMRoleSelector=true"),
    "AUD-15: the feature gate IAMRoleSelector and CARM are both on, so the controller exits at its start; turn CARM "
      + "off: set --enable-carm=false in the Deployment, and enableCARM=false in the values of its chart, which "
      + "otherwise turns it on again"],
  ["selectors in one namespace", gatedDeployment("IAMRoleSelector=true", false, watching("a")),
    "AUD-15: the controller watches only a, and with installScope=namespace, its chart grants no right to "
      + `list IAMRoleSelectors, ${OWN_ROLE}; grant its service account get, list and watch on `
      + "iamroleselectors.services.k8s.aws and namespaces in a ClusterRole, or set installScope=cluster "
      + "(aws-controllers-k8s/community#2755)"],
  ["neither", gatedDeployment("", false),
    `AUD-15: the feature gate IAMRoleSelector and CARM are both off in the controller, ${OWN_ROLE}; ${FIX}`],
  ["CARM in one namespace", gatedDeployment("", true, watching("a")),
    `AUD-15: the controller watches only a, and then does not start CARM, ${OWN_ROLE}; ${FIX}`],
]);

/** Returns the Deployment with another container in its Pods. */
function besideOther(deployment: JsonObject, container: JsonObject): JsonObject {
  const containers = ["spec", "template", "spec", "containers"];
  return applyEdits(deployment, [set([...containers, 1], container)]) ?? {};
}

test("AUD-15 sets the argument that turns CARM off, unless several containers have arguments", (t) => {
  const repairsOf = (object: JsonObject): unknown => findingsOf(object).flatMap(({ repairs = [] }) => repairs);
  const args = ["spec", "template", "spec", "containers", 0, "args"];
  const off = (path: readonly unknown[]): unknown => [{ edits: [{ path, value: "--enable-carm=false" }] }];
  t.same(repairsOf(gatedDeployment("IAMRoleSelector=true")), off([...args, 12]));
  t.same(repairsOf(controllerDeployment({ args: ["--feature-gates=IAMRoleSelector=true"] })), off([...args, 11]));
  const proxy = { name: "proxy", image: "proxy", args: ["-v"] };
  t.same(repairsOf(besideOther(gatedDeployment("IAMRoleSelector=true"), proxy)), []);
  t.same(repairsOf(besideOther(gatedDeployment("IAMRoleSelector=true"), { name: "x" })), off([...args, 12]));
  t.end();
});
