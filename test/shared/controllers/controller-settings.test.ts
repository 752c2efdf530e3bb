import { test } from "tap";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { readControllers } from "../../../shared/controllers/controller-deployment.ts";
import { commonMode, settleSettings, type StatedSettings } from "../../../shared/controllers/controller-settings.ts";
import { controllerDeployment, gatedDeployment } from "../../fixtures/controllers.ts";
import { testRows } from "../rows.ts";

const NOT_STATED: StatedSettings = {
  mode: null, teamLevelCarm: null, serviceLevelCarm: null, region: null, controllerAccount: null, controllerRole: null,
};
const account = (name: string, role: string): JsonObject => ({
  apiVersion: "v1", kind: "ServiceAccount",
  metadata: { name, namespace: "ack-system", annotations: { "eks.amazonaws.com/role-arn": role } },
});
const ROLE = "arn:aws:iam::999900001111:role/ack-s3";
const OTHER_ROLE = "arn:aws:iam::999900001111:role/ack-rds";
const OF_S3 = account("ack-s3", ROLE);
const OF_RDS = account("ack-rds", OTHER_ROLE);
const S3 = gatedDeployment("IAMRoleSelector=true", false);
const RDS = gatedDeployment("IAMRoleSelector=true", false, { name: "rds", spec: { serviceAccountName: "ack-rds" } });
const CARM = gatedDeployment("TeamLevelCARM=true", true, { name: "carm" });
const SECRET = controllerDeployment({ name: "secret", args: ["--feature-gates=$(S)"], env: [{ name: "AWS_REGION" }] });

type Input = readonly [objects: readonly JsonObject[], stated?: Partial<StatedSettings>, unread?: string];

/** Returns the settings that were read as one line, and the notes. */
function linesOf([objects, stated = {}, unread]: Input): string[] {
  const found = { ...readControllers(objects, "ack-system"), unread: unread ?? null };
  const { read, notes } = settleSettings({ ...NOT_STATED, ...stated }, found);
  return [read.join(" "), ...notes];
}

testRows("completes the stated settings by those of all Deployments, and reports contradictions", linesOf, [
  ["no Deployment", [[]], ""],
  ["one controller", [[S3, OF_S3]],
    `--region=eu-west-1 --controller-account=999900001111 --controller-role=${ROLE}`],
  ["controllers with a role each", [[S3, RDS, OF_S3, OF_RDS]],
    `--region=eu-west-1 --controller-account=999900001111`],
  ["controllers that differ", [[S3, CARM, OF_S3]],
    "--region=eu-west-1 --controller-account=999900001111 "
      + `--controller-role=${ROLE}`,
    "the controllers differ, so state --mode: selectors in ack-system/ack-s3 and carm in ack-system/carm",
    "the controllers differ, so state --team-level-carm: false in ack-system/ack-s3 and true in ack-system/carm"],
  ["flags that agree", [[S3, OF_S3], { mode: "selectors", controllerRole: ROLE, region: "eu-west-1" }], ""],
  ["flags that contradict",
    [[S3, OF_S3], { mode: "carm", region: "us-east-1", controllerAccount: "111122223333", teamLevelCarm: true }],
    `--controller-role=${ROLE}`,
    "--mode=carm contradicts the Deployments: selectors in ack-system/ack-s3",
    "--team-level-carm=true contradicts the Deployments: false in ack-system/ack-s3",
    "--region=us-east-1 contradicts the Deployments: eu-west-1 in ack-system/ack-s3",
    "--controller-account=111122223333 contradicts the Deployments: 999900001111 in ack-system/ack-s3"],
  ["a setting that is unknown for one controller", [[SECRET, S3, OF_S3]],
    `--controller-account=999900001111 --controller-role=${ROLE}`,
    "in Deployment ack-system/secret, the value of --feature-gates is not in the Deployment",
    'in Deployment ack-system/secret, --aws-region is "", with which the controller exits at its start'],
  ["Deployments that may not be read", [[], {}, "not allowed"],
    "", "the configuration of the controllers is unknown: not allowed; state it with flags"],
  ["a Deployment in another namespace", [[controllerDeployment({ namespace: "team-a" })]], "",
    "only controllers in the namespace of --ack-system-namespace count, not Deployment team-a/ack-s3"],
]);

test("keeps the defaults where nothing is known, and a region only if it is one", (t) => {
  t.same(settleSettings(NOT_STATED, { controllers: [], others: [], unread: null }).settings, {
    ...NOT_STATED, mode: "selectors", teamLevelCarm: false, serviceLevelCarm: false,
  });
  const odd = controllerDeployment({ env: [{ name: "AWS_REGION", value: "eu-west-1; rm" }] });
  t.equal(settleSettings(NOT_STATED, readControllers([odd], "ack-system")).settings.region, null);
  t.equal(commonMode(readControllers([CARM], "ack-system").controllers), "carm");
  t.equal(commonMode(readControllers([CARM, S3], "ack-system").controllers), null);
  t.end();
});

testRows("takes the region of the flag, or of the variable if the flag is missing", linesOf, [
  ["the variable", [[controllerDeployment({ container: { args: [] } })]],
    `--mode=carm --region=eu-west-1`],
  ["neither", [[controllerDeployment({ container: { args: [], env: [] } })]], `--mode=carm`,
    "in Deployment ack-system/ack-s3, it has no region, so it exits at its start"],
]);
