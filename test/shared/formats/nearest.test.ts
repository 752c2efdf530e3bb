import { type Test, test } from "tap";
import { closest, isMisspelled, NameIndex } from "../../../shared/formats/nearest.ts";

test("a misspelling differs in case, punctuation, number, or in one letter", (t) => {
  const misspelled = [
    "Bucket", "bucket", "BUCKET", "Buc-ket", "Buckets", "bucketes", "Bucke", "ucket", "Buckket", "Bucklet", "Bukcet",
    "Backet",
  ];
  for (const text of misspelled) t.ok(isMisspelled(text, "Bucket"), text);
  for (const text of ["", "Bckt", "Object", "Bucketful", "BucketPolicy", "x".repeat(100_000)]) {
    t.notOk(isMisspelled(text, "Bucket"), text.slice(0, 20));
  }
  t.ok(isMisspelled("Policies", "Policy"));
  t.ok(isMisspelled("IAM-Role-Selectors", "IAMRoleSelector"));
  t.ok(isMisspelled("sq", "sqs"));
  t.notOk(isMisspelled("sns", "sqs"), "a letter of a short name is replaced");
  t.notOk(isMisspelled("wafv3", "wafv2"), "another digit");
  t.notOk(isMisspelled("team-b", "team-a"), "the last letter");
  t.notOk(isMisspelled("team-b-prod", "team-a-prod"), "a word of one letter");
  t.notOk(isMisspelled("team", "team-a"), "a word is missing");
  t.notOk(isMisspelled("team-10", "team-1"), "one more digit");
  t.end();
});

test("an index finds misspelled names, and else those that the text abbreviates", (t) => {
  const index = new NameIndex(["dynamodb", "documentdb", "s3", "rds", "rDS", "certificate", "certificateauthority"]);
  t.same(index.nearest("dynamo"), ["dynamodb"]);
  t.same(index.nearest("dyn"), [], "less than half of the letters");
  t.same(index.nearest("s"), ["s3"]);
  t.same(index.nearest("rsd"), ["rDS", "rds"], "all that are equally similar, sorted");
  t.same(index.nearest("certificate"), ["certificate"], "not what it abbreviates");
  t.same(index.nearest("certificateauth"), ["certificateauthority"]);
  t.same(index.nearest(""), []);
  t.same(index.nearest("d".repeat(10_000)), []);
  t.same(index.misspelled("dynamo"), []);
  t.ok(index.has("s3"));
  t.end();
});

test("an index finds names that abbreviate the text or that it abbreviates, if none is misspelled", (t) => {
  const names = ["prod", "dev", "stage", "app-development", "checkout-production", "qa", "team-a", "data", "Test"];
  const index = new NameIndex([...names, "east-1", "east-2", "core", "corex", "corey", "corez", "corew"]);
  const rows: readonly (readonly [text: string, names: readonly string[], isSure?: boolean])[] = [
    ["production", ["prod"]], ["development", ["dev"]], ["staging", ["stage"]], ["Production", ["prod"]],
    ["app-dev", ["app-development"]], ["app-deve", ["app-development"]], ["checkout-prod", ["checkout-production"]],
    ["database", ["data"]], ["testing", []], ["TEST", ["Test"], true],
    ["app-de", []], ["app", []], ["team", []], ["team-abc", []],
    ["q", ["qa"], true], ["qatar", []], ["eas", []], ["", []],
    ["prdo", ["prod"], true], ["prods", ["prod"], true], ["prod", ["prod"], true],
    ["cor", ["core"], true], ["stag", ["stage"], true], ["producti".repeat(8), []],
  ];
  for (const [text, found, isSure = false] of rows) t.same(index.similar(text), { names: found, isSure }, text);
  t.same(new NameIndex(["staging"]).similar("stage").names, ["staging"]);
  t.same(new NameIndex(["p".repeat(64)]).similar("ppp").names, [], "a name that is too long");
  const many = ["production", "productive", "produce-x-prod", "prodigy", "products"];
  t.same(new NameIndex(many).similar("prod").names, [], "too many to tell which one is meant");
  t.same(new NameIndex(many.slice(0, 3)).similar("prod").names, ["production", "productive"]);
  t.end();
});

test("the index finds what a comparison with each name finds", (t) => {
  const names = [
    "bucket", "bucketpolicy", "table", "tables", "role", "rule", "api", "app", "vpc", "queue", "key",
    "team-1", "team-12", "team-2a",
  ];
  const index = new NameIndex(names);
  const texts = names.flatMap((name) => names.map((other) => name.slice(0, 3) + other.slice(2)));
  for (const text of texts) {
    const expected = names.includes(text) ? [text] : names.filter((name) => isMisspelled(text, name));
    t.same([...index.misspelled(text)].toSorted(), expected.toSorted(), text);
  }
  t.end();
});

/** The number of places for hyphens in which the names differ. */
const HYPHENS = 11;
/** Returns a name that differs from the others only in its hyphens. */
function hyphenated(number: number): string {
  return Array.from("abcdefghijkl", (letter, i) => ((number >> i) % 2 === 1 ? `${letter}-` : letter)).join("");
}

test("ignores names that differ only in punctuation if there are more than 20", (t) => {
  const names = Array.from({ length: 21 }, (_, i) => hyphenated(i));
  t.equal(new NameIndex(names.slice(1)).misspelled("ABCDEF-ghijkl").length, 20);
  t.same(new NameIndex(names).misspelled("ABCDEF-ghijkl"), []);
  t.end();
});

test("finds a name although many others have one letter more", (t) => {
  const index = new NameIndex(["team", ...Array.from("abcdefghijklmnopqrstuvwxy", (letter) => `team-${letter}`)]);
  for (const text of ["Team", "teamz", "te-am"]) t.ok(index.misspelled(text).includes("team"), text);
  t.same(index.misspelled("taem-b"), ["team-b"]);
  t.same(index.misspelled("Team-B"), ["team-b"]);
  const numbered = new NameIndex(["pr-3", ...Array.from({ length: 99 }, (_, i) => `pr-3${i}`)]);
  t.same(numbered.misspelled("pr3"), ["pr-3"]);
  t.end();
});

test("compares a text with few of 2,000 names", (t) => {
  const alike = Array.from({ length: 2 ** HYPHENS }, (_, i) => hyphenated(i));
  const inserted = Array.from({ length: 2000 }, (_, i) => `abcdef${String.fromCodePoint(0x4e00 + i)}ghijkl`);
  t.ok(comparisons(t, alike, hyphenated(2 ** HYPHENS)) <= 20);
  t.ok(comparisons(t, inserted, "abcdefghijkl") <= 20);
  t.ok(comparisons(t, [...inserted, "abcdefghijk"], "abcdefghijkl") >= 1, "the others are compared");
  t.end();
});

/** Returns how often a lookup compares the text with a name: each time, the text is converted to lower case. */
function comparisons(t: Test, names: readonly string[], text: string): number {
  const index = new NameIndex(names);
  index.misspelled("x");
  const { value: original } = Object.getOwnPropertyDescriptors(String.prototype).toLowerCase;
  const calls = t.capture(String.prototype, "toLowerCase", original);
  index.misspelled(text);
  // At least two calls are needed for each name, and one for the text.
  const count = Math.floor((calls().length - 1) / 2);
  calls.restore();
  return count;
}

test("guesses a name if its start was written, or if a third of the letters or one differs", (t) => {
  const rows: readonly (readonly [text: string, names: readonly string[], meant: string | null])[] = [
    ["arm", ["arn", "names"], "arn"],
    ["name", ["names", "arn"], "names"],
    ["ARN", ["arn"], "arn"],
    ["regoin", ["region"], "region"],
    ["ab", ["xy"], null],
    ["a", ["b"], "b"],
    ["abcdef", ["abcdxy"], "abcdxy"],
    ["abcdef", ["abcxyz"], null],
    ["names", ["name", "named", "names"], "names"],
    ["x", [], null],
    ["", ["a"], "a"],
    ["", ["ab"], null],
    ["matchLabel", ["matchExpressions", "matchLabels"], "matchLabels"],
    ["Repo", ["Repository", "PullThroughCacheRule"], "Repository"],
    ["Re", ["Repository"], null],
    ["Repo", ["RepositoryCreationTemplate", "Repository"], "Repository"],
    ["Repo", ["RepositoryOne", "RepositoryTwo"], null],
    ["x".repeat(50_000_000), ["arn"], null],
  ];
  for (const [text, names, meant] of rows) t.equal(closest(text, names), meant, text.slice(0, 20));
  t.end();
});

test("guesses every name that is as similar as the most similar one, sorted", (t) => {
  const ids = new NameIndex(["IRS-01", "IRS-19", "IRS-09", "IRS-17", "ACK-09"]);
  t.same(ids.guesses("IRS-99"), ["IRS-09", "IRS-19"]);
  t.same(ids.guesses("irs-17"), ["IRS-17"]);
  t.same(ids.guesses("IRS17"), ["IRS-17"]);
  t.same(ids.guesses("something"), []);
  t.end();
});
