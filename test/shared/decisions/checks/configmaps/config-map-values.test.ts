import { test } from "tap";
import { ACCOUNT_MAP, CARM, dataLines, linesOf, mapObject, ONE, roleIn, TEAM_MAP, TWO } from "../subjects.ts";

const ARN_FIX = "Write the role's ARN as IAM shows it: arn:aws:iam::ACCOUNT:role/NAME.";
const settings = CARM;

test("CM-01: a value is the ARN of a role, refused in mode carm and told in mode selectors", (t) => {
  const message = `CM-01 data[${ONE}]: "arn:aws:iam::${ONE}:root" is not the ARN of an IAM role: it names "root", not role/NAME. ${ARN_FIX}`;
  t.same(dataLines("CM-01", { [ONE]: `arn:aws:iam::${ONE}:root` }, { settings }), [`deny ${message}`]);
  t.same(dataLines("CM-01", { [ONE]: `arn:aws:iam::${ONE}:root` }), [`warn ${message}`]);
  t.same(dataLines("CM-01", { a: "team-a" }, { settings }), [`deny CM-01 data[a]: "team-a" is not the ARN of an IAM role: it is no ARN. ${ARN_FIX}`]);
  t.match(dataLines("CM-01", { a: `${roleIn(ONE)}\n` }, { settings }), [/its role name "a\\n" is not/], "a line break at the end counts");
  t.same(dataLines("CM-01", { a: roleIn(ONE), b: "" }, { settings }), []);
  t.end();
});

test("CM-01: an old fault warns, another one is refused", (t) => {
  const old = mapObject(ACCOUNT_MAP, { a: "x" });
  t.match(dataLines("CM-01", { a: "x", b: "y" }, { old, settings }), [/^warn CM-01 data\[a\]/, /^deny CM-01 data\[b\]/]);
  t.end();
});

test("CM-02: a key has a role", (t) => {
  t.same(dataLines("CM-02", { [ONE]: "" }, { settings }), [`deny CM-02 data[${ONE}]: the key has no role. Write the role's ARN, or remove the key once nothing names it.`]);
  t.same(dataLines("CM-02", { [ONE]: roleIn(ONE) }, { settings }), []);
  t.end();
});

test("CM-03: a key that is an account's id has a role of that account", (t) => {
  const line = (key: string): string => `warn CM-03 data[${key}]: the key is account ${ONE}, and its role is in account "${TWO}". Give the key a role of its account, or another name.`;
  t.same(dataLines("CM-03", { [ONE]: roleIn(TWO) }, { settings }), [line(ONE)]);
  t.same(dataLines("CM-03", { [`s3.${ONE}`]: roleIn(TWO) }, { settings }), [line(`s3.${ONE}`)]);
  t.same(dataLines("CM-03", { [ONE]: roleIn(ONE), alias: roleIn(TWO), "1111": roleIn(TWO), [TWO]: "x" }, { settings }), []);
  t.same(linesOf("CM-03", mapObject(TEAM_MAP, { [ONE]: roleIn(TWO) }), { settings }), [], "a team may be called so");
  t.end();
});

test("CM-05: a value is one ARN and no document", (t) => {
  const fix = "Write one key for each role, with a service in front where there are several: s3.111122223333.";
  const line = `deny CM-05 data[s3]: the value holds a document, and controllers take it for one ARN. ${fix}`;
  for (const value of [`${ONE}: ${roleIn(ONE)}`, `${roleIn(ONE)}\n${roleIn(TWO)}\n`, `- ${roleIn(ONE)}`, '{"a": 1}', `team-a:\n  ${roleIn(ONE)}`]) {
    t.same(dataLines("CM-05", { s3: value }, { settings }), [line], value);
    t.same(dataLines("CM-01", { s3: value }, { settings }), [], "one fault is enough");
  }
  for (const value of [roleIn(ONE), `${roleIn(ONE)}\n`, ` ${roleIn(ONE)}`, "", "x"]) t.same(dataLines("CM-05", { s3: value }, { settings }), [], JSON.stringify(value));
  t.same(linesOf("CM-05", { ...mapObject(ACCOUNT_MAP, {}), data: null }), [], "no data at all");
  t.same(dataLines("CM-05", { s3: { [ONE]: roleIn(ONE) } }, { settings }), [`deny CM-05 data[s3]: the value is not a text, as every value of a ConfigMap is. ${fix}`]);
  t.end();
});

test("CM-06: what is in binaryData is told", (t) => {
  t.same(linesOf("CM-06", { ...mapObject(ACCOUNT_MAP, {}), binaryData: { [ONE]: "YQ==" } }), [
    `warn CM-06 binaryData[${ONE}]: controllers ignore what is in binaryData. Write the entry under data.`,
  ]);
  t.same(linesOf("CM-06", mapObject(ACCOUNT_MAP, { [ONE]: roleIn(ONE) })), []);
  t.end();
});

test("another ConfigMap is nobody's business", (t) => {
  for (const other of [mapObject("ack-role-account-maps", { a: "" }), { ...mapObject(ACCOUNT_MAP, { a: "" }), kind: "Secret" }]) t.same(linesOf("CM-02", other), []);
  t.end();
});
