import type { JsonObject } from "../../../shared/formats/json.ts";
import { ACCOUNT_MAP, FIRST, kindObject, mapObject, roleIn, SECOND, TEAM_MAP } from "../objects.ts";
import { testRows } from "../rows.ts";
import { type Circumstances, linesOf } from "../core/findings.ts";

const ROLE = roleIn(FIRST);
const CARM = { settings: { mode: "carm" } } as const;
const SERVICES = { settings: { mode: "carm", serviceLevelCARM: true } } as const;
const S3 = `s3.${FIRST}`;

type Input = readonly [data: JsonObject, circumstances?: Circumstances, map?: JsonObject];
/** Returns the findings of the check for an account map, or for another map with the data. */
const of = (id: string) => ([data, circumstances = CARM, map = mapObject(ACCOUNT_MAP, {})]: Input): string[] =>
  linesOf(id, { ...map, data }, circumstances);

const line = (key: string, text: string): string => `CM-01 data[${key}]: ${text}.`;
const FIX = "Write the role's ARN as IAM shows it: arn:aws:iam::ACCOUNT:role/NAME";
const noRole = (key: string, value: string, why: string): string =>
  line(key, `"${value}" is not the ARN of an IAM role: ${why}. ${FIX}`);
const ROOT = `arn:aws:iam::${FIRST}:root`;
const OF_ROOT = noRole(FIRST, ROOT, 'its resource is "root", not role/NAME');
const otherAccount = (key: string): string => `warn ${line(key, `the key names account ${FIRST}, but its role is in `
  + `account "${SECOND}". Set a role in the account of the key, or rename the key`)}`;
const ONE_KEY = "Write one key for each role. If services use different roles, start each key with the service: "
  + "s3.111122223333";
const DOCUMENTS = [
  `${FIRST}: ${ROLE}`, `${ROLE}\n${roleIn(SECOND)}\n`, `- ${ROLE}`, '{"a": 1}', `team-a:\n  ${ROLE}`,
];
const NO_ARN = / is not the ARN of an IAM role: /;

testRows("CM-01 denies a value that is not a role ARN, and in mode selectors only warns", of("CM-01"), [
  ["the root user", [{ [FIRST]: ROOT }], `deny ${OF_ROOT}`],
  ["mode selectors", [{ [FIRST]: ROOT }, {}], `warn ${OF_ROOT}`],
  ["a name", [{ a: "team-a" }], `deny ${noRole("a", "team-a", "it is not an ARN")}`],
  ["a line break at the end", [{ a: `${ROLE}\n` }], /its role name "r\\n" is not/],
  ["a space", [{ s3: ` ${ROLE}` }], NO_ARN],
  ["a role", [{ a: ROLE, [FIRST]: ROLE }]],
  ["a fault of the stored map", [{ a: "x", b: "y" }, { ...CARM, old: mapObject(ACCOUNT_MAP, { a: "x" }) }],
    /^warn CM-01 data\[a\]/, /^deny CM-01 data\[b\]/],
  ["an empty value", [{ [FIRST]: "" }],
    `deny ${line(FIRST, "the key has no role. Set the value of the key to the role's "
    + "ARN, or remove the key if no namespace annotation names it")}`],
  ["an empty value of a service", [{ [S3]: "" }, SERVICES],
    /^deny CM-01 data\[s3\.\d+\]: the key has no role, so controllers use the role of key "111122223333"\. /],
  ["without ServiceLevelCARM", [{ [S3]: "" }], /the key has no role\. /],
  ["the role of another account", [{ [FIRST]: roleIn(SECOND) }], otherAccount(FIRST)],
  ["the role of another account for a service", [{ [S3]: roleIn(SECOND) }], otherAccount(S3)],
  ["keys that are not account IDs", [{ alias: roleIn(SECOND), "1111": roleIn(SECOND) }]],
  ["a team may have a number as its name", [{ [FIRST]: roleIn(SECOND) }, CARM, mapObject(TEAM_MAP, {})]],
  ...DOCUMENTS.map((value) => [value, [{ s3: value }], `deny ${line("s3", "the value looks like YAML or JSON, but "
    + `controllers parse the whole value as one ARN. ${ONE_KEY}`)}`] as const),
  ["a map", [{ s3: { [FIRST]: ROLE } }],
    `deny ${line("s3", `the value is not a string, which a ConfigMap requires. ${ONE_KEY}`)}`],
  ["a ConfigMap with another name", [{ a: "" }, CARM, mapObject("ack-role-account-maps", {})]],
  ["a Secret", [{ a: "" }, CARM, { ...mapObject(ACCOUNT_MAP, {}), kind: "Secret" }]],
]);

const service = (key: string, text: string): string => `warn CM-04 data[${key}]: ${text}.`;
const SERVICE_FIX = "Write ID, or SERVICE.ID where SERVICE is an ACK service, such as s3.111122223333";
const installed = kindObject("Box", "warehouse.services.k8s.aws", [{ name: "v1", storage: true, served: true }]);
const binary = { ...mapObject(ACCOUNT_MAP, {}), binaryData: { [FIRST]: "YQ==" } };

testRows("CM-04 warns about a key whose service prefix is unknown, and about entries of binaryData", of("CM-04"), [
  ["an unknown service", [{ [`frobnicator.${FIRST}`]: ROLE }, {}],
    service(`frobnicator.${FIRST}`, `"frobnicator" is not an ACK service. ${SERVICE_FIX}`)],
  ["an unknown service with ServiceLevelCARM", [{ "newsvc.a": ROLE }, SERVICES], service("newsvc.a",
    `"newsvc" is not an ACK service, so the sidecar grants no role for the key. ${SERVICE_FIX}`)],
  ["a misspelled service", [{ [`dynamodbs.${FIRST}`]: ROLE }, {}], service(`dynamodbs.${FIRST}`,
    `"dynamodbs" is not an ACK service. Write dynamodb.${FIRST} if you meant the service dynamodb`)],
  ["no id", [{ "s3.": ROLE }, {}], service("s3.", `the key has no id after the dot. ${SERVICE_FIX}`)],
  ["known keys", [{ [FIRST]: ROLE, alias: ROLE, [S3]: ROLE, "s3.team.a": ROLE }, {}]],
  ["an installed service", [{ "warehouse.a": ROLE }, { known: [installed] }]],
  ["binaryData", [{}, {}, binary], `warn CM-04 binaryData[${FIRST}]: controllers ignore the entries of binaryData. `
    + "Move the entry from binaryData to data."],
]);

testRows("CM-12 warns about service keys if ServiceLevelCARM is off", of("CM-12"), [
  ["off", [{ [S3]: ROLE, [FIRST]: ROLE, "x.a": ROLE }],
    `warn CM-12 data[${S3}]: controllers ignore this key of service s3, because --service-level-carm is off. `
      + "Enable the feature gate ServiceLevelCARM on the controllers and set --service-level-carm, or remove the key."],
  ["on", [{ [S3]: ROLE }, SERVICES]],
  ["in mode selectors CM-09 reports the whole map", [{ [S3]: ROLE }, {}]],
]);
