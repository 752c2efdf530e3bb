import { test } from "tap";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { readControllers } from "../../../shared/controllers/controller-deployment.ts";
import { decideGates, uncoveredControllers } from "../../../cli/carm/migration-gates.ts";
import { controllerDeployment, gatedDeployment } from "../../fixtures/controllers.ts";
import { testRows } from "../../shared/rows.ts";

type Stated = Readonly<Partial<Record<"TeamLevelCARM" | "ServiceLevelCARM", boolean>>>;
type Input = readonly [deployments: readonly JsonObject[], stated?: Stated, unread?: string];

/** Returns the gates that are on as one line, or `PROBLEM; FIX` for each problem. */
function linesOf([deployments, stated = {}, unread]: Input): string[] {
  const found = { ...readControllers(deployments, "ack-system"), unread: unread ?? null };
  const all = { TeamLevelCARM: null, ServiceLevelCARM: null, ...stated };
  const { values, problems } = decideGates(all, found, "ack-system");
  if (values !== null) return [Object.entries(values).flatMap(([gate, isOn]) => (isOn ? [gate] : [])).join(" ")];
  return problems.map(({ problem, fix }) => `${problem}; ${fix}`);
}

const BOTH = { TeamLevelCARM: true, ServiceLevelCARM: true };
const TEAM = gatedDeployment("TeamLevelCARM=true", true, { name: "s3" });
const NONE = gatedDeployment("", true, { name: "rds" });
const SECRET = controllerDeployment({ args: ["--feature-gates=$(SECRET)"] });
const passing = (flag: string): string => `pass ${flag}=true or ${flag}=false, as the controllers are configured, or `
  + "add their Deployments to the input and set --ack-system-namespace to their namespace";
const unknown = (gate: string, reason: string): string => (
  `it is unknown whether the feature gate ${gate} is on: ${reason}`
);
const NOT_FOUND = "no Deployment of an ACK controller was found in namespace ack-system";
const IN_SECRET = "in Deployment ack-system/ack-s3, the value of --feature-gates is not in the Deployment";

testRows("takes the gates from the flags or from all Deployments, and refuses to guess", linesOf, [
  ["flags and no Deployment", [[], BOTH], "TeamLevelCARM ServiceLevelCARM"],
  ["Deployments that agree", [[TEAM, { ...TEAM, metadata: { name: "b", namespace: "ack-system" } }]], "TeamLevelCARM"],
  ["a Deployment of another namespace does not count",
    [[{ ...TEAM, metadata: { name: "s3", namespace: "team-a" } }], { ServiceLevelCARM: false }],
    `${unknown("TeamLevelCARM", NOT_FOUND)}; ${passing("--team-level-carm")}`],
  ["neither", [[]], `${unknown("TeamLevelCARM", NOT_FOUND)}; ${passing("--team-level-carm")}`,
    `${unknown("ServiceLevelCARM", NOT_FOUND)}; ${passing("--service-level-carm")}`],
  ["Deployments that may not be listed", [[], { ServiceLevelCARM: false }, "not allowed"],
    `${unknown("TeamLevelCARM", "not allowed")}; ${passing("--team-level-carm")}`],
  ["a value in a Secret", [[SECRET, TEAM]],
    `${unknown("TeamLevelCARM", IN_SECRET)}; ${passing("--team-level-carm")}`, /ServiceLevelCARM is on: in Deployment/],
  ["a value in a Secret that the flags state", [[SECRET, TEAM], { TeamLevelCARM: true, ServiceLevelCARM: false }],
    "TeamLevelCARM"],
  ["controllers that differ", [[TEAM, NONE]],
    "the feature gate TeamLevelCARM is on in Deployment ack-system/s3, but off in Deployment ack-system/rds; give all "
      + "controllers the same feature gate, because a selector applies to each of them"],
  ["flags that contradict Deployments", [[TEAM, NONE], { TeamLevelCARM: false, ServiceLevelCARM: true }],
    "--team-level-carm=false, but TeamLevelCARM is on in Deployment ack-system/s3; correct the flag, or give all "
      + "controllers the same feature gate",
    "--service-level-carm=true, but ServiceLevelCARM is off in Deployments ack-system/rds and ack-system/s3; correct "
      + "the flag, or give all controllers the same feature gate"],
  ["a controller with selectors", [[gatedDeployment("IAMRoleSelector=true", false)]],
    "Deployment ack-system/ack-s3 has the feature gate IAMRoleSelector on, so its controller already ignores the "
      + "CARM maps; compare its roles with `ack-role-resolver resolve`; only controllers with CARM can migrate"],
  ["a controller that exits", [[gatedDeployment("IAMRoleSelector=true")]], /its controller exits at its start; turn /],
  ["a controller without CARM", [[gatedDeployment("", false)]],
    "the controller of Deployment ack-system/ack-s3 does not use CARM but its own role, because --enable-carm is "
      + "false; run the command on manifests without this Deployment, and do not let the selectors select its "
      + "resources"],
  ["a controller with one namespace", [[gatedDeployment("", true, { args: ["--watch-namespace=a"] })]],
    /because --watch-namespace has one namespace; run/],
]);

test("names controllers in other namespaces, which the proof does not cover", (t) => {
  const found = readControllers([controllerDeployment({ namespace: "ack-s3" })], "ack-system");
  t.match(uncoveredControllers(found, "ack-system"), [{ subject: "Deployment ack-s3/ack-s3" }]);
  t.same(uncoveredControllers({ ...found, others: [] }, "ack-system"), []);
  t.end();
});
