import * as fc from "fast-check";
import { test } from "tap";
import { formatFieldPath } from "../../../shared/formats/json.ts";
import { parsePolicy, type PolicyKind } from "../../../shared/trust/policy-document.ts";
import { parsePrincipal } from "../../../shared/trust/policy-principal.ts";
import { parameters } from "../property.ts";

type Fields = Readonly<Record<string, unknown>>;

const TRUST = { Effect: "Allow", Principal: { AWS: "111122223333" }, Action: "sts:AssumeRole" };
const GRANT = { Effect: "Allow", Action: "sts:*", Resource: "*" };

function fault(document: unknown, kind: PolicyKind = "trust"): string | null {
  const found = parsePolicy(document, kind).fault;
  return found === null ? null : `${formatFieldPath(found.path)}: ${found.message}`;
}

function faultOf(fields: Fields, kind: PolicyKind = "trust"): string | null {
  return fault({ Statement: [{ ...(kind === "trust" ? TRUST : GRANT), ...fields }] }, kind);
}

test("reads a document, a JSON text and a URL-encoded text the same", async (t) => {
  const action = fc.constantFrom("sts:AssumeRole", "sts:*", "*");
  const statement = fc.record({
    Sid: fc.stringMatching(/^[A-Za-z+]{1,5}$/), Effect: fc.constantFrom("Allow", "Deny"),
    Principal: fc.constantFrom("*", { AWS: "*" }, { Service: ["a.amazonaws.com"] }),
    Action: fc.oneof(action, fc.array(action)),
    Condition: fc.constantFrom({}, { Bool: { "aws:MultiFactorAuthPresent": true } }, { StringLike: {
      "aws:RequestTag/é": ["${a}", "%20"],
    } }),
  }, { requiredKeys: ["Effect", "Principal", "Action"] });
  const policy = fc.record({ Version: fc.constantFrom("2008-10-17", "2012-10-17"), Statement: fc.array(statement) });
  fc.assert(fc.property(policy, (document) => {
    const text = JSON.stringify(document, null, 1);
    const [first, ...others] = [document, text, encodeURIComponent(text)].map((one) => (
      JSON.stringify(parsePolicy(one, "trust"))
    ));
    t.equal(parsePolicy(document, "trust").fault, null);
    return others.every((one) => one === first);
  }), parameters(t, 200));
});

test("reads one statement, one value and unquoted values as lists", async (t) => {
  const { policy } = parsePolicy({
    Statement: { ...TRUST, Sid: "", Condition: { NumericLessThan: { "aws:MultiFactorAuthAge": 10 },
    Bool: { "a:b": false } } },
  }, "trust");
  const [statement] = policy?.statements ?? [];
  t.match(statement, { index: 1, sid: null, effect: "Allow", resources: { items: [] } });
  t.same(statement?.principals.items, [{ kind: "account", partition: null, accountID: "111122223333" }]);
  t.same(statement?.conditions.map(({ operatorText, key, values }) => [operatorText, key, ...values]), [
    ["NumericLessThan", "aws:MultiFactorAuthAge", "10"], ["Bool", "a:b", "false"],
  ]);
});

test("reports the path of the first fault", async (t) => {
  t.equal(faultOf({ Effect: "allow" }), "Statement[0].Effect: Effect is not Allow or Deny");
  t.equal(faultOf({ Sid: 1 }), "Statement[0].Sid: Sid is not a text");
  t.equal(
    faultOf({ Resource: "*" }),
    "Statement[0].Resource: Resource is not allowed, because a trust policy has no resources",
  );
  t.equal(
    faultOf({ NotPrincipal: "*" }, "identity"),
    "Statement[0].NotPrincipal: NotPrincipal is not allowed, because only a trust policy has principals",
  );
  t.equal(faultOf({ NotAction: "sts:*" }), "Statement[0]: the statement does not have one of Action and NotAction");
  t.equal(
    fault({ Statement: { Effect: "Allow", Action: "*" } }),
    "Statement: the statement does not have one of Principal and NotPrincipal",
  );
  t.equal(
    fault({ Statement: { Effect: "Allow", Principal: "*", NotAction: [] } }), "Statement.NotAction: NotAction is empty",
  );
  t.equal(faultOf({ Principal: "111122223333" }), "Statement[0].Principal: Principal is not an object");
  t.equal(faultOf({ Principal: { aws: "*" } }), 'Statement[0].Principal.aws: "aws" is not an element of a policy');
  t.equal(
    faultOf({ Action: ["sts:*", "s*:Get"] }), 'Statement[0].Action[1]: the action "s*:Get" is not SERVICE:ACTION',
  );
  t.equal(faultOf({ Action: [null] }), "Statement[0].Action[0]: Action is not a text");
  t.equal(faultOf({ Condition: { Bool: { "a:b": {} } } }), 'Statement[0].Condition.Bool[a:b]: "a:b" is not a text');
  t.equal(faultOf({ Condition: { Bool: [] } }), "Statement[0].Condition.Bool: Bool is not an object");
  t.equal(fault({ Version: "2012-10-18", Statement: [] }), "Version: Version is not 2012-10-17 or 2008-10-17");
  t.equal(fault([]), ": the policy is not an object");
  t.match(fault("{"), /^: the policy is not JSON or URL-encoded JSON: /);
  t.match(fault("%7B%"), /^: the policy is not JSON or URL-encoded JSON: /);
  const repeated = '{"Statement": [{"Effect": "Deny", "Effect": "Allow"}]}';
  const message = ': the key "Effect" is stated twice; remove one';
  t.same([fault(repeated), fault(encodeURIComponent(repeated))], [message, message]);
  t.equal(
    faultOf({ Condition: { Bool: { "a:B": true, "A:b": false } } }),
    'Statement[0].Condition.Bool[A:b]: "A:b" is stated twice, apart from case; remove one',
  );
  t.match(faultOf({ Condition: { Bool: { "a:b": true }, bool: { "a:b": false } } }), /"a:b" is stated twice, apart/);
});

test("bounds the size and the depth of a document", async (t) => {
  const statements = Array.from({ length: 100_000 }, () => TRUST);
  t.equal(fault({ Statement: statements }), ": the policy has more than 20000 values");
  let condition: unknown = {};
  for (let i = 0; i < 4_000; i++) condition = { StringEquals: condition };
  t.match(faultOf({ Condition: condition }),
    /^Statement\[0\]\.Condition\..*: the policy is nested deeper than 8 levels$/);
  t.equal(fault('{"Statement": [], "__proto__": {"Version": 1}}'),
    '__proto__: "__proto__" is not an element of a policy');
  t.equal(fault('{"Statement": {"Effect": "Allow", "Principal": {"__proto__": "*"}, "Action": "*"}}'),
    'Statement.Principal.__proto__: "__proto__" is not an element of a policy');
  t.equal(fault(" ".repeat(300_000)), ": the policy has 300000 characters, more than 131072");
  t.equal(fault({ Statement: Array(30_000).fill("") }), ": the policy has more than 20000 values");
  t.match(fault(`${"[".repeat(50_000)}${"]".repeat(50_000)}`), /the policy is nested deeper than 8 levels/);
});

test("reads a resource with a variable in its account as nothing", async (t) => {
  const resourcesOf = (resource: string, version: string): boolean[] => {
    const { policy } = parsePolicy({ Version: version, Statement: { ...GRANT, Resource: resource } }, "identity");
    return (policy?.statements ?? []).flatMap(({ resources }) => resources.items.map((item) => item === null));
  };
  t.same(resourcesOf("arn:aws:iam::${aws:PrincipalAccount}:role/x", "2012-10-17"), [true]);
  t.same(resourcesOf("arn:aws:iam::111122223333:role/${aws:PrincipalAccount}", "2012-10-17"), [false]);
  t.same(resourcesOf("arn:aws:iam::${aws:PrincipalAccount}:role/x", "2008-10-17"), [false]);
});

test("an unquoted number is compared as it is written", async (t) => {
  const condition = { StringEquals: { "aws:PrincipalTag/v": "VALUE" } };
  const policy = JSON.stringify({ Statement: { ...TRUST, Condition: condition } });
  const valuesOf = (number: string): unknown => (
    parsePolicy(policy.replace('"VALUE"', number), "trust").policy?.statements[0]?.conditions[0]?.values
  );
  for (const number of ["1.0", "1", "1e0", "-0", "1.50", "12345678901234567890"]) t.same(valuesOf(number), [number]);
});

test("parses principals of each kind", async (t) => {
  const kinds: readonly (readonly [type: string, text: string, kind: string])[] = [
    ["AWS", "*", "any"], ["AWS", "111122223333", "account"], ["AWS", "arn:aws:iam::111122223333:root", "account"],
    ["AWS", "arn:aws:iam::111122223333:role/a/b", "role"], ["AWS", "arn:aws:iam::111122223333:user/b", "user"],
    ["AWS", "arn:aws:sts::111122223333:assumed-role/b/s", "session"], ["AWS", "AROAEXAMPLEEXAMPLEID1", "id"],
    ["AWS", "arn:aws:sts::111122223333:federated-user/b", "federated"], ["AWS", "arn:aws:iam::111122223333:group/b",
    "invalid"],
    ["AWS", "arn:aws:iam::111122223333:role/*", "wildcard"], ["AWS", "arn:aws:iam:::role/a", "invalid"], ["AWS", "x",
    "invalid"],
    ["Service", "pods.eks.amazonaws.com", "service"], ["Service", "*", "wildcard"],
    ["Federated", "accounts.google.com", "federated"], ["Federated", "*", "wildcard"],
    ["CanonicalUser", "abc", "federated"],
  ];
  t.same(kinds.map(([type, text]) => parsePrincipal(type, text).kind), kinds.map(([, , kind]) => kind));
});

test("reports no error of its own as a fault of the document", (t) => {
  let reads = 0;
  const document = {
    get Statement(): unknown[] {
      // The first read measures the document.
      if (++reads > 1) throw new Error("a bug");
      return [];
    },
  };
  t.throws(() => parsePolicy(document, "trust"), { message: "a bug" });
  t.end();
});
