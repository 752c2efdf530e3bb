import { test } from "tap";
import type { JsonObject } from "../../../../../shared/decisions/kubernetes/json.ts";
import { bucketObject, namespaceObject } from "../../objects.ts";
import { judgeChange } from "../selector-changes.ts";
import { ACCOUNT_MAP, CARM, existing, linesOf, mapObject, ONE, roleIn, TEAM_MAP, TWO } from "../subjects.ts";

const named = (name: string, id: string, key = "owner-account-id"): JsonObject => namespaceObject(name, {}, { [`services.k8s.aws/${key}`]: id });
const FIX = "Keep the key's account until the resources are gone, or first let the namespaces name another key whose role is in the same account.";
const KNOWN = [named("team-a", ONE), bucketObject(), existing("b2", ONE), namespaceObject("team-b"), existing("b3", TWO, { namespace: "team-b" })];

interface Step {
  readonly settings?: object;
  readonly known?: readonly JsonObject[];
  readonly map?: string;
  readonly namespace?: string;
}

/** What a change of a map from one data to another does. */
function lines(from: JsonObject, to: JsonObject, { settings = {}, known = KNOWN, map = ACCOUNT_MAP, namespace = "ack-system" }: Step = {}): string[] {
  const old = mapObject(map, from, namespace);
  return linesOf("CM-08", mapObject(map, to, namespace), { old, known: [old, ...known], settings: { ...CARM, ...settings } });
}

const IN_USE = "1 namespace: team-a; 2 resources: Bucket team-a/b1 and Bucket team-a/b2";

test("CM-08: a key that is used and goes is refused in mode carm, and told in mode selectors", (t) => {
  const message = `CM-08 data[${ONE}]: the key leads to no role any more, and is used by ${IN_USE}. ${FIX}`;
  t.same(lines({ [ONE]: roleIn(ONE) }, {}), [`deny ${message}`]);
  t.same(lines({ [ONE]: roleIn(ONE) }, {}, { settings: { mode: "selectors" } }), [`warn ${message}`]);
  t.same(lines({ [ONE]: roleIn(ONE) }, { [ONE]: "" }), [`deny ${message}`], "an empty value is none");
  t.same(lines({ [ONE]: roleIn(ONE) }, { [ONE]: "x" }), [`deny ${message}`], "nor is what is no ARN");
  t.same(lines({ other: roleIn(ONE) }, {}), [], "nobody uses it");
  t.same(lines({ [ONE]: "" }, {}), [], "it led to no role before");
  t.same(lines({ [ONE]: roleIn(ONE) }, {}, { namespace: "team-a" }), [], "controllers read another map");
  t.end();
});

test("CM-08: a key whose role moves to another account is refused, another role of the account is not", (t) => {
  t.same(lines({ [ONE]: roleIn(ONE) }, { [ONE]: roleIn(TWO) }), [
    `deny CM-08 data[${ONE}]: the key leads from account ${ONE} to account ${TWO}, and is used by ${IN_USE}. ${FIX}`,
  ]);
  t.same(lines({ [ONE]: roleIn(ONE) }, { [ONE]: roleIn(ONE, "b"), [TWO]: roleIn(TWO) }), []);
  t.end();
});

test("CM-08: what exists in an account uses its key though its namespace names none", (t) => {
  t.same(lines({ [TWO]: roleIn(TWO) }, {}), [`deny CM-08 data[${TWO}]: the key leads to no role any more, and is used by 1 resource: Bucket team-b/b3. ${FIX}`]);
  t.same(lines({ [TWO]: roleIn(TWO) }, {}, { settings: { controllerAccount: TWO } }), [], "in the controllers' own account their own role is used");
  t.same(lines({ [TWO]: roleIn(TWO) }, {}, { known: [named("team-b", ONE), existing("b3", TWO, { namespace: "team-b" })] }), [], "its namespace names another");
  t.same(lines({ [TWO]: roleIn(TWO) }, {}, { map: TEAM_MAP }), [], "of the other map");
  t.end();
});

test("CM-08: teams use the team map where it is read", (t) => {
  const known = [named("team-a", "blue", "team-id"), bucketObject()];
  const step = { map: TEAM_MAP, known };
  t.same(lines({ blue: roleIn(ONE) }, {}, { ...step, settings: { teamLevelCARM: true } }), [
    `deny CM-08 data[blue]: the key leads to no role any more, and is used by 1 namespace: team-a; 1 resource: Bucket team-a/b1. ${FIX}`,
  ]);
  t.same(lines({ blue: roleIn(ONE) }, {}, step), []);
  t.end();
});

test("CM-08: a service's key and the plain one stand in for each other", (t) => {
  const settings = { serviceLevelCARM: true };
  const both = { [ONE]: roleIn(ONE), [`s3.${ONE}`]: roleIn(ONE, "s3") };
  t.same(lines(both, { [ONE]: roleIn(ONE) }, { settings }), [], "the plain key leads to the same account");
  t.same(lines(both, { [`s3.${ONE}`]: roleIn(ONE) }, { settings }), [
    `deny CM-08 data[${ONE}]: the key leads to no role any more, and is used by 1 namespace: team-a. ${FIX}`,
  ], "what is there goes by the service's key, and other services would have none");
  t.same(lines({ [ONE]: roleIn(TWO), [`s3.${ONE}`]: roleIn(ONE) }, { [ONE]: roleIn(TWO) }, { settings }), [
    `deny CM-08 data[s3.${ONE}]: the key leads from account ${ONE} to account ${TWO}, and is used by 2 resources: Bucket team-a/b1 and Bucket team-a/b2. ${FIX}`,
  ]);
  t.same(lines({ [`s3.${ONE}`]: roleIn(ONE) }, {}), [], "where such keys are not read");
  t.end();
});

test("CM-08: it looks no further than 20, in pieces, and may be waived", (t) => {
  const many = [named("team-a", ONE), ...Array.from({ length: 300 }, (_, i) => bucketObject({ name: `b${String(i).padStart(3, "0")}` }))];
  t.same(lines({ [ONE]: roleIn(ONE) }, {}, { known: many }), [
    `deny CM-08 data[${ONE}]: the key leads to no role any more, and is used by at least 1 namespace: team-a; at least 19 resources: Bucket team-a/b000, Bucket team-a/b001, Bucket team-a/b002 and 16 more. ${FIX}`,
  ]);
  const unaffected = Array.from({ length: 300 }, (_, i) => named(`ns-${i}`, TWO));
  t.same(lines({ [ONE]: roleIn(ONE) }, {}, { known: unaffected }), []);
  const map = mapObject(ACCOUNT_MAP, {});
  const waived = { ...map, metadata: { name: ACCOUNT_MAP, namespace: "ack-system", annotations: { "ack-role-resolver.io/allow": "CM-08" } } };
  t.equal(judgeChange(waived, { old: mapObject(ACCOUNT_MAP, { [ONE]: roleIn(ONE) }), known: KNOWN, settings: CARM }).denied, false);
  t.end();
});

test("CM-10: another role of the same account is told", (t) => {
  const of = (from: JsonObject, to: JsonObject, settings: object = CARM, namespace = "ack-system"): string[] => (
    linesOf("CM-10", mapObject(ACCOUNT_MAP, to, namespace), { old: mapObject(ACCOUNT_MAP, from, namespace), settings })
  );
  t.same(of({ [ONE]: roleIn(ONE) }, { [ONE]: roleIn(ONE, "b") }), [
    `warn CM-10 data[${ONE}]: controllers may use the old role until their next resync or restart. Keep the old role until then, or restart the controllers.`,
  ]);
  t.same(of({ [ONE]: roleIn(ONE) }, { [ONE]: roleIn(ONE), [TWO]: roleIn(TWO) }), []);
  t.same(of({ [ONE]: roleIn(ONE) }, { [ONE]: roleIn(TWO) }), [], "of which CM-08 speaks");
  t.same(of({ [ONE]: roleIn(ONE) }, { [ONE]: roleIn(ONE, "b") }, {}), [], "where selectors decide");
  t.same(of({ [ONE]: roleIn(ONE) }, { [ONE]: roleIn(ONE, "b") }, CARM, "team-a"), [], "of a map that nobody reads");
  t.end();
});

test("CM-11: a map that is used is not deleted in mode carm", (t) => {
  const of = (data: JsonObject, known: readonly JsonObject[] = KNOWN, settings: object = CARM): string[] => {
    const map = mapObject(ACCOUNT_MAP, data);
    return linesOf("CM-11", map, { operation: "DELETE", known: [map, ...known], settings });
  };
  const message = `CM-11 metadata.name: the map is used by 1 namespace: team-a; 3 resources: Bucket team-a/b1, Bucket team-a/b2 and Bucket team-b/b3. `
    + "Keep the map until no namespace names an account or a team and the resources are gone.";
  const data = { [ONE]: roleIn(ONE), [TWO]: roleIn(TWO) };
  t.same(of(data), [`deny ${message}`]);
  t.same(of(data, KNOWN, {}), [`warn ${message}`]);
  t.same(of(data, [namespaceObject("team-a"), bucketObject()]), [], "nobody names it");
  t.same(of({}), [], "it holds nothing");
  t.same(linesOf("CM-11", mapObject(ACCOUNT_MAP, data, "team-a"), { operation: "DELETE", known: KNOWN, settings: CARM }), [], "nobody reads it");
  t.end();
});
