import { test } from "tap";
import { readTemplateYAML } from "../../../shared/files/template-yaml.ts";

test("reads short tags like the functions of JSON, and dates as texts", async (t) => {
  t.same(readTemplateYAML([
    "AWSTemplateFormatVersion: 2010-09-09", "Resources:", "  R:", "    Condition: !Condition C",
    "    Path: !Sub '/${A}/'", "    Name: !Join ['-', [!Ref A, b]]", "    Arn: !GetAtt B.Arn",
    "    Map: !Transform {Name: x}", "    Account: !!str 1", "    Long:", "      Fn::Sub: x",
  ].join("\n")), {
    AWSTemplateFormatVersion: "2010-09-09", Resources: { R: {
      Condition: { Condition: "C" }, Path: { "Fn::Sub": "/${A}/" }, Name: { "Fn::Join": ["-", [{ Ref: "A" }, "b"]] },
      Arn: { "Fn::GetAtt": "B.Arn" }, Map: { "Fn::Transform": { Name: "x" } }, Account: "1", Long: { "Fn::Sub": "x" },
    } },
  });
  t.same(readTemplateYAML("a: &x !Ref P\nb: *x"), { a: { Ref: "P" }, b: { Ref: "P" } }, "an alias of a call");
  t.equal(readTemplateYAML(""), null);
});

test("keeps a number as it is written, because IAM compares texts", async (t) => {
  t.strictSame(readTemplateYAML("[012345678901, 12345678901, 0o17, 1e3, 1.0, -0, 10, 1.5]"), [
    "012345678901", 12_345_678_901, "0o17", "1e3", "1.0", "-0", 10, 1.5,
  ]);
});

test("reports the line of the first fault", async (t) => {
  const cases: Readonly<Record<string, RegExp>> = {
    "a: 1\nb: [": /^line 2: invalid YAML/, "a: 1\na: 2": /^line 2: duplicate field "a"/,
    "a: 1\n---\nb: 1": /^line 2: a template is one document/, "a: *x": /^line 1: the alias/,
    [`a: ${"[".repeat(4_000)}`]: /^line 1: nested deeper than 100 levels/,
    [`a: ${"x".repeat(1024 * 1024)}`]: /^line 1: the template has more than 1048576 characters/,
    [`a: ${"!Ref [".repeat(80)}${"]".repeat(80)}`]: /^line 1: nested deeper than 100 levels/,
  };
  for (const [text, message] of Object.entries(cases)) t.throws(() => readTemplateYAML(text), message);
});
