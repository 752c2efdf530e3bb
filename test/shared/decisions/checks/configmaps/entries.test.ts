import { test } from "tap";
import { kindObject } from "../../objects.ts";
import { ACCOUNT_MAP, CARM, dataLines, linesOf, mapObject, ONE, roleIn, TEAM_MAP, TWO } from "../subjects.ts";

const ROLE = roleIn(ONE);
const settings = CARM;

test("CM-01 in mode carm denies a value that is not a role ARN, and in mode selectors only warns", (t) => {
  const fix = "Write the role's ARN as IAM shows it: arn:aws:iam::ACCOUNT:role/NAME.";
  const root = `arn:aws:iam::${ONE}:root`;
  const line = `CM-01 data[${ONE}]: "${root}" is not the ARN of an IAM role: its resource is "root", not role/NAME. `
    + fix;
  t.same(dataLines("CM-01", { [ONE]: root }, { settings }), [`deny ${line}`]);
  t.same(dataLines("CM-01", { [ONE]: root }), [`warn ${line}`]);
  t.same(dataLines("CM-01", { a: "team-a" }, { settings }), [
    `deny CM-01 data[a]: "team-a" is not the ARN of an IAM role: it is not an ARN. ${fix}`,
  ]);
  t.match(
    dataLines("CM-01", { a: `${ROLE}\n` }, { settings }),
    [/its role name "a\\n" is not/],
    "a line break at the end",
  );
  t.same(dataLines("CM-01", { a: ROLE }, { settings }), []);
  t.end();
});

test("CM-01 denies a new fault, and only warns about a fault of the stored map", (t) => {
  const old = mapObject(ACCOUNT_MAP, { a: "x" });
  t.match(dataLines("CM-01", { a: "x", b: "y" }, { old, settings }), [
    /^warn CM-01 data\[a\]/,
    /^deny CM-01 data\[b\]/,
  ]);
  t.end();
});

test("CM-01 denies a key whose value is empty", (t) => {
  t.same(dataLines("CM-01", { [ONE]: "" }, { settings }), [
    `deny CM-01 data[${ONE}]: the key has no role. Set the value of the key to the role's ARN, or remove the key `
      + `if no namespace annotation names it.`,
  ]);
  t.same(dataLines("CM-01", { [ONE]: ROLE }, { settings }), []);
  const [line = ""] = dataLines("CM-01", { [`s3.${ONE}`]: "" }, { settings: { ...settings, serviceLevelCARM: true } });
  t.match(line, `data[s3.${ONE}]: the key has no role, so controllers use the role of key "${ONE}". `);
  const [withoutGate = ""] = dataLines("CM-01", { [`s3.${ONE}`]: "" }, { settings });
  t.match(withoutGate, "the key has no role. ");
  t.end();
});

test("CM-01 warns about a key that is an account ID if its role is in another account", (t) => {
  const line = (key: string): string => (
    `warn CM-01 data[${key}]: the key names account ${ONE}, but its role is in account "${TWO}". `
    + "Set a role in the account of the key, or rename the key."
  );
  t.same(dataLines("CM-01", { [ONE]: roleIn(TWO) }, { settings }), [line(ONE)]);
  t.same(dataLines("CM-01", { [`s3.${ONE}`]: roleIn(TWO) }, { settings }), [line(`s3.${ONE}`)]);
  const valid = { [ONE]: ROLE, alias: roleIn(TWO), "1111": roleIn(TWO) };
  t.same(dataLines("CM-01", valid, { settings }), []);
  t.same(
    linesOf("CM-01", mapObject(TEAM_MAP, { [ONE]: roleIn(TWO) }), { settings }),
    [],
    "a team may have a number as its name",
  );
  t.end();
});

test("CM-04 warns about a key whose service prefix is unknown", (t) => {
  const fix = "Write ID, or SERVICE.ID where SERVICE is an ACK service, such as s3.111122223333.";
  t.same(dataLines("CM-04", { [`frobnicator.${ONE}`]: ROLE }), [
    `warn CM-04 data[frobnicator.${ONE}]: "frobnicator" is not an ACK service. ${fix}`,
  ]);
  t.same(dataLines("CM-04", { "newsvc.a": ROLE }, { settings: { mode: "carm", serviceLevelCARM: true } }), [
    `warn CM-04 data[newsvc.a]: "newsvc" is not an ACK service, so the sidecar grants no role for the key. ${fix}`,
  ]);
  t.same(dataLines("CM-04", { [`dynamodbs.${ONE}`]: ROLE }), [
    `warn CM-04 data[dynamodbs.${ONE}]: "dynamodbs" is not an ACK service. `
    + `Write dynamodb.${ONE} if you meant the service dynamodb.`,
  ]);
  t.same(dataLines("CM-04", { "s3.": ROLE }), [`warn CM-04 data[s3.]: the key has no id after the dot. ${fix}`]);
  t.same(dataLines("CM-04", { [ONE]: ROLE, alias: ROLE, [`s3.${ONE}`]: ROLE, "s3.team.a": ROLE }), []);
  const installed = kindObject("Box", "warehouse.services.k8s.aws", [{ name: "v1", storage: true, served: true }]);
  t.same(dataLines("CM-04", { "warehouse.a": ROLE }, { known: [installed] }), [], "an installed service");
  t.end();
});

test("CM-01 denies a value that is a YAML document or is not a string", (t) => {
  const fix = "Write one key for each role. If services use different roles, start each key with the service: "
    + "s3.111122223333.";
  const line = "deny CM-01 data[s3]: the value looks like YAML or JSON, but controllers parse the whole value as one "
    + `ARN. ${fix}`;
  const documents = [`${ONE}: ${ROLE}`, `${ROLE}\n${roleIn(TWO)}\n`, `- ${ROLE}`, '{"a": 1}', `team-a:\n  ${ROLE}`];
  for (const value of documents) {
    t.same(dataLines("CM-01", { s3: value }, { settings }), [line], value);
  }
  for (const value of [`${ROLE}\n`, ` ${ROLE}`, "x"]) {
    t.match(dataLines("CM-01", { s3: value }, { settings }), [/ is not the ARN of an IAM role: /], value);
  }
  t.same(linesOf("CM-01", { ...mapObject(ACCOUNT_MAP, {}), data: null }), [], "no data");
  t.same(dataLines("CM-01", { s3: { [ONE]: ROLE } }, { settings }), [
    `deny CM-01 data[s3]: the value is not a string, which a ConfigMap requires. ${fix}`,
  ]);
  t.end();
});

test("CM-04 warns about entries of binaryData", (t) => {
  t.same(linesOf("CM-04", { ...mapObject(ACCOUNT_MAP, {}), binaryData: { [ONE]: "YQ==" } }), [
    `warn CM-04 binaryData[${ONE}]: controllers ignore the entries of binaryData. Move the entry from binaryData to `
      + `data.`,
  ]);
  t.same(linesOf("CM-04", mapObject(ACCOUNT_MAP, { [ONE]: ROLE })), []);
  t.end();
});

test("CM-12 warns about service keys if ServiceLevelCARM is off", (t) => {
  t.same(dataLines("CM-12", { [`s3.${ONE}`]: ROLE, [ONE]: ROLE, "x.a": ROLE }, { settings }), [
    `warn CM-12 data[s3.${ONE}]: controllers ignore this key of service s3, because --service-level-carm is off. `
    + "Enable the feature gate ServiceLevelCARM on the controllers and set --service-level-carm, or remove the key.",
  ]);
  t.same(dataLines("CM-12", { [`s3.${ONE}`]: ROLE }, { settings: { ...CARM, serviceLevelCARM: true } }), []);
  t.same(dataLines("CM-12", { [`s3.${ONE}`]: ROLE }), [], "in mode selectors CM-09 reports the whole map");
  t.end();
});

test("reports nothing for a ConfigMap that is not a CARM map", (t) => {
  const others = [
    mapObject("ack-role-account-maps", { a: "" }),
    { ...mapObject(ACCOUNT_MAP, { a: "" }), kind: "Secret" },
  ];
  for (const other of others) t.same(linesOf("CM-01", other), []);
  t.end();
});
