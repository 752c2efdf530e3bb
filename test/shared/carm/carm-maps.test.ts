import { resolve } from "../../../shared/core/resolve.ts";
import type { Resolution } from "../../../shared/core/resolution.ts";
import { CARM_MAPS } from "../../../shared/carm/map-store.ts";
import { test } from "tap";
import type { DecisionSettings } from "../../../shared/core/context.ts";
import { queryOf } from "../../../shared/core/ack-resource.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import {
  ACCOUNT_MAP, bucketObject, inventoryWith, mapObject, namespaceObject, ROLE, selectorObject, SETTINGS_BY_DEFAULT,
  TEAM_MAP,
} from "../objects.ts";
import { testRows } from "../rows.ts";

const OTHER = "arn:aws:iam::444455556666:role/b";
const THIRD = "arn:aws:iam::777788889999:role/c";
const ID = "111122223333";

const accounts = (data: JsonObject, namespace?: string): JsonObject => mapObject(ACCOUNT_MAP, data, namespace);
const teams = (data: JsonObject): JsonObject => mapObject(TEAM_MAP, data);
const annotated = (annotations: JsonObject, name = "team-a"): JsonObject => namespaceObject(name, {}, annotations);
const OWNER = { "services.k8s.aws/owner-account-id": ID };
const TEAM = { "services.k8s.aws/team-id": "blue" };

type Input = readonly [objects: readonly JsonObject[], settings?: Partial<DecisionSettings>, resource?: JsonObject];
function carm([objects, settings = {}, resource = bucketObject()]: Input): Resolution {
  const inventory = inventoryWith(objects, { runtime: settings.runtime ?? "ack" });
  return resolve(inventory, queryOf(resource, "default"), { ...SETTINGS_BY_DEFAULT, mode: "carm", ...settings });
}
/** Returns the outcome, the map and the role, or the code and the message of a fault. */
const text = (input: Input): string[] => {
  const { outcome, via, roleARN, code, message } = carm(input);
  return [code === null ? [outcome, via, roleARN].filter((part) => part !== null).join(" ") : `${code} ${message}`];
};

const selector = selectorObject("a", { arn: OTHER, namespaceSelector: { names: ["team-a"] } });
const MAP = accounts({ [ID]: ROLE });

test("the resolution has the role of the map, the account of the role, and no selector", (t) => {
  t.same(carm([[annotated(OWNER), MAP, selector]]), {
    outcome: "selected", via: "account-map", selectors: [], roleARN: ROLE, accountID: ID, region: null, code: null,
    message: `The role comes from key "${ID}" of the account map.`,
  });
  t.match(carm([[annotated({}), MAP, selector]]), {
    outcome: "default", message: "The namespace names no account, so the controller's own role is used.",
  });
  const prod = annotated({ "services.k8s.aws/owner-account-id": "prod" });
  t.match(carm([[prod, accounts({ prod: OTHER })]]), { roleARN: OTHER, accountID: "444455556666" });
  const failed = { outcome: "refused", via: "account-map", selectors: [], roleARN: null, accountID: null };
  t.match(carm([[annotated(OWNER)]]), failed);
  t.equal(
    carm([[annotated(TEAM), teams({ blue: OTHER })], { teamLevelCARM: true }]).message,
    'The role comes from key "blue" of the team map.',
  );
  t.end();
});

test("the reason names the key of the service", (t) => {
  const settings = { teamLevelCARM: true, serviceLevelCARM: true } as const;
  t.equal(
    carm([[annotated(TEAM), teams({ blue: ROLE, "s3.blue": OTHER })], settings]).message,
    'The role comes from key "s3.blue" of the team map.',
  );
  t.end();
});

const exists = bucketObject({}, { status: { ackResourceMetadata: { ownerAccountID: "444455556666" } } });
const TWO = accounts({ "444455556666": OTHER, [ID]: ROLE });
const both = annotated({ ...OWNER, ...TEAM });
const GATE = { teamLevelCARM: true } as const;
const EXTENDED = { ...GATE, runtime: "extended" } as const;
const proposed = { "services.k8s.aws/owner-team-id": "green" };
const GREEN = teams({ blue: OTHER, green: THIRD });
const OTHER_OWNER = { "services.k8s.aws/owner-account-id": "444455556666" };
const NAMED = annotated(OTHER_OWNER, "team-b");
const UNNAMED = 'ERR_SELECTOR_NOT_GRANTED Only the status of the resource names account "444455556666", and no '
  + 'namespace does, so the sidecar refuses the role of key "444455556666" in ConfigMap '
  + "ack-system/ack-role-account-map.";
const SERVICE = { serviceLevelCARM: true } as const;
const data = { [ID]: ROLE, [`s3.${ID}`]: OTHER, [`sqs.${ID}`]: THIRD };
const WHERE = "ConfigMap ack-system/ack-role-account-map";
const OF_ACCOUNT = `selected account-map ${OTHER}`;
const OF_OWNER = `selected account-map ${ROLE}`;

testRows("looks up the role of a resource in the CARM maps", text, [
  ["the account in the status", [[TWO, NAMED], {}, exists], OF_ACCOUNT],
  ["no namespace names the account in the status", [[TWO], {}, exists], UNNAMED],
  ["only a namespace with a team names it", [[TWO, annotated({ ...TEAM, ...OTHER_OWNER }, "team-b")], GATE, exists],
    UNNAMED],
  ["a namespace that CARM ignores names it", [[TWO, annotated(OTHER_OWNER, "kube-public")], {}, exists], UNNAMED],
  ["a namespace names another key of the role", [[accounts({ "444455556666": OTHER, x: OTHER }), annotated({
    "services.k8s.aws/owner-account-id": "x",
  }, "team-b")], {}, exists], OF_ACCOUNT],
  ["another account than the controller's", [[TWO, NAMED], { controllerAccount: "999988887777" }, exists], OF_ACCOUNT],
  ["the controller's account", [[TWO], { controllerAccount: "444455556666" }, exists], "default"],
  ["the namespace precedes the status", [[TWO, annotated(OWNER)], {}, exists], OF_OWNER],
  ["TeamLevelCARM is on", [[both, MAP, teams({ blue: OTHER })], GATE], `selected team-map ${OTHER}`],
  ["TeamLevelCARM is off", [[both, MAP, teams({ blue: OTHER })]], OF_OWNER],
  ["a missing team does not fall back to the account", [[both, accounts({ [ID]: ROLE, blue: ROLE })], GATE],
    /^ERR_CARM_MAP_MISSING ConfigMap ack-system\/ack-role-team-map/],
  ["owner-team-id with --runtime ack", [[annotated(proposed), GREEN], GATE], "default"],
  ["owner-team-id with --runtime extended", [[annotated(proposed), GREEN], EXTENDED], `selected team-map ${THIRD}`],
  ["no team with --runtime extended", [[annotated({}), GREEN], EXTENDED], "default"],
  ["team-id precedes owner-team-id", [[annotated({ ...proposed, ...TEAM }), GREEN], EXTENDED],
    `selected team-map ${OTHER}`],
  ["ServiceLevelCARM is on", [[annotated(OWNER), accounts(data)], SERVICE], OF_ACCOUNT],
  ["ServiceLevelCARM is off", [[annotated(OWNER), accounts(data)]], OF_OWNER],
  ["an empty service key", [[annotated(OWNER), accounts({ ...data, [`s3.${ID}`]: "" })], SERVICE], OF_OWNER],
  ["only a service key", [[annotated(OWNER), accounts({ [`s3.${ID}`]: OTHER })], SERVICE], OF_ACCOUNT],
  ["no service key", [[annotated(OWNER), MAP], SERVICE], OF_OWNER],
  ["a service key of a team", [[annotated(TEAM), teams({ "s3.blue": OTHER })], { ...SERVICE, ...GATE }],
    `selected team-map ${OTHER}`],
  ["a missing map", [[annotated(OWNER)]], `ERR_CARM_MAP_MISSING ${WHERE} does not exist, so key "${ID}" has no role.`],
  ["a missing key", [[annotated(OWNER), accounts({ "1": ROLE })]], `ERR_CARM_KEY_MISSING ${WHERE} has no key "${ID}".`],
  ["no data", [[annotated(OWNER), { ...MAP, data: null }]], /^ERR_CARM_KEY_MISSING /],
  ["an empty value", [[annotated(OWNER), accounts({ [ID]: "" })]],
    `ERR_CARM_VALUE_EMPTY ${WHERE} has no role for key "${ID}".`],
  ["no ARN", [[annotated(OWNER), accounts({ [ID]: "role/a" })]],
    `ERR_CARM_ARN The value "role/a" of key "${ID}" in ${WHERE} is not the ARN of an IAM role, so controllers cannot `
      + "assume it."],
  ...[
    "arn:aws:iam::111122223333:root", "arn:aws:iam::111122223333:user/jane", "arn:aws:iam:role/a", `${ROLE} `,
    "arn:aws:iam::111122223333:role/", "arn:gov:iam::111122223333:role/a",
  ].flatMap((value) => (["ack", "extended"] as const).map((runtime) => (
    [`${value} with --runtime ${runtime}`, [[annotated(OWNER), accounts({ [ID]: value })], { runtime }],
      /^ERR_CARM_ARN The value "arn:.* of key "111122223333" in /] as const
  ))),
  ["the ARN of a user for a service", [[annotated(OWNER), accounts({ ...data, [`s3.${ID}`]: "x" })], SERVICE],
    /^ERR_CARM_ARN The value "x" of key "s3\.111122223333" in /],
  ["the key of another service",
    [[annotated({ "services.k8s.aws/owner-account-id": "rds.x" }), accounts({ "rds.x": ROLE })], SERVICE],
    `ERR_SELECTOR_NOT_GRANTED With --service-level-carm, key "rds.x" in ${WHERE} grants its role only to the service `
      + 'before the dot. Add the key "s3.rds.x", or use an id without a dot.'],
  ["another namespace of the map", [[annotated(OWNER), accounts({ [ID]: ROLE }, "default")]],
    /^ERR_CARM_MAP_MISSING /],
  ["--ack-system-namespace", [[annotated(OWNER), accounts({ [ID]: ROLE }, "ack")], { ackSystemNamespace: "ack" }],
    OF_OWNER],
  ["a namespace that CARM ignores", [[annotated(OWNER, "kube-system"), MAP], {},
    bucketObject({ namespace: "kube-system" })], "default"],
]);

test("removes deleted maps, and does not store other ConfigMaps", (t) => {
  const inventory = inventoryWith([accounts({ a: ROLE }), mapObject("another", { a: ROLE })]);
  t.same(inventory.of(CARM_MAPS).data("ack-system", ACCOUNT_MAP), new Map([["a", ROLE]]));
  t.equal(inventory.of(CARM_MAPS).data("ack-system", "another"), null);
  inventory.apply([
    { type: "remove", group: "", kind: "ConfigMap", namespace: "ack-system", name: ACCOUNT_MAP },
  ]);
  t.equal(inventory.of(CARM_MAPS).data("ack-system", ACCOUNT_MAP), null);
  t.end();
});

test("ignores the region of the namespaces that CARM ignores, but not in mode selectors", (t) => {
  const region = (namespace: string, mode: "carm" | "selectors"): unknown => {
    const object = annotated({ "services.k8s.aws/default-region": "eu-central-1" }, namespace);
    return carm([[object], { region: "eu-west-1", mode }, bucketObject({ namespace })]).region;
  };
  t.same(region("kube-system", "carm"), { value: "eu-west-1", from: "controller" });
  t.same(region("kube-system", "selectors"), { value: "eu-central-1", from: "namespace" });
  t.same(region("team-a", "carm"), { value: "eu-central-1", from: "namespace" });
  t.end();
});
