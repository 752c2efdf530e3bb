import { test } from "tap";
import { readManifests } from "../../../shared/files/manifest-reader.ts";
import { ACCOUNT_MAP, mapObject, roleIn, TEAM_MAP } from "../objects.ts";
import { testRows } from "../rows.ts";
import { type Circumstances, linesOf } from "../core/findings.ts";

const CARM = { settings: { mode: "carm" } } as const;
const OCTAL = "012345670123";
const FLOAT = "098765432109";

type Input = readonly [key: string, role?: string, circumstances?: Circumstances, map?: string];
/** Returns the findings about a map whose only key stands in the YAML text as it is. */
const of = (id: string) => ([key, role = roleIn(OCTAL), circumstances = CARM, map = ACCOUNT_MAP]: Input): string[] => {
  const text = `${JSON.stringify({ ...mapObject(map, {}), data: null }).slice(0, -'"data":null}'.length)}"data": {`
    + `${key}: ${JSON.stringify(role)}}}`;
  const { manifests: [manifest], faults } = readManifests(text, "map.yaml");
  return manifest === undefined ? faults.map(({ message }) => message) : linesOf(id, manifest.object, circumstances);
};

const quoted = (key: string, account: string): string => (
  `CM-16 data[${key}]: the key is the number ${key}, as which YAML reads ${account}. `
    + `Put the key in quotes: "${account}".`
);
const number = (key: string): string => `deny CM-16 data[${key}]: the key is the number ${key}, not a text. `
  + "Put the key in quotes.";
const short = (key: string): string => `warn CM-16 data[${key}]: the key is the number ${key}, but an account id has `
  + "12 digits. Put the 12 digits of the account id in quotes.";
const word = (key: string, words: string): string => (
  `warn CM-16 data[${key}]: the key is ${key}, as which YAML also reads ${words}. Put the key in quotes.`
);

testRows("CM-16 denies a key that YAML reads as a number", of("CM-16"), [
  ["an octal account id", [OCTAL], `deny ${quoted("1402433619", OCTAL)}`],
  ["mode selectors", [OCTAL, roleIn(OCTAL), {}], `warn ${quoted("1402433619", OCTAL)}`],
  ["of the team map", [OCTAL, roleIn(OCTAL), CARM, TEAM_MAP], `deny ${quoted("1402433619", OCTAL)}`],
  ["a float", [FLOAT, roleIn(FLOAT)], `deny ${quoted("9.876543e+10", FLOAT)}`],
  ["a short float", ["000000098765", roleIn("000000098765")], `deny ${quoted("98765", "000000098765")}`],
  ["a float for a role of another account", [FLOAT], number("9.876543e+10")],
  ["a float for a text that is not an ARN", [FLOAT, "x"], number("9.876543e+10")],
  ["an exponent", ["1e12"], number("1e+12")],
  ["infinity", [".inf"], number(".inf")],
  ["not a number", [".nan"], number(".nan")],
  ["an octal account id for a role of another account", [OCTAL, roleIn(FLOAT)], short("1402433619")],
  ["an underscore", ["1_000"], short("1000")],
  ["a hexadecimal number", ["0x1F"], short("31")],
  ["a short exponent", ["1e5"], short("100000")],
  ["a short number of the team map", ["42", roleIn(OCTAL), CARM, TEAM_MAP]],
  ["yes", ["yes"], word("true", "y, yes and on")],
  ["the team no", ["no", roleIn(OCTAL), CARM, TEAM_MAP], word("false", "n, no and off")],
  ["quotes", [`"${OCTAL}"`]],
  ["no zero at the start", ["111122223333", roleIn("111122223333")]],
  ["no zero at the start, for a role of another account", ["111122223333"]],
  ["a name", ["team-a"]],
  ["a key of a service", ["s3.1e+12"]],
]);

test("CM-16 is the only finding about such a key", (t) => {
  for (const id of ["CM-01", "CM-04", "CM-12"]) {
    t.same(of(id)([FLOAT, roleIn(FLOAT)]), [], id);
    t.same(of(id)([OCTAL]), [], id);
  }
  t.same(of("CM-16")(["~"]), ["the field name is not a string"], "kubectl rejects this key");
  t.end();
});
