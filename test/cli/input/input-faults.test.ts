import { test } from "tap";
import { faultLines } from "../../../cli/input/input-faults.ts";
import type { InputFault } from "../../../shared/files/manifest-reader.ts";
import { runCommand } from "../run-command.ts";

const file = (i: number): string => `${String(i).padStart(2, "0")}.yaml`;
const numbers = (count: number): number[] => Array.from({ length: count }, (_, i) => i);
const broken = (i: number): InputFault => (
  { file: file(i), line: 1, message: `invalid YAML: fault ${i}`, kind: "syntax" }
);
const missing = (i: number): InputFault => ({ file: file(i), line: null, message: "no such file or folder" });

test("lists up to ten faults as they are", (t) => {
  t.same(faultLines([], false), []);
  t.same(faultLines(numbers(10).map(missing), false), numbers(10).map((i) => `${file(i)}: no such file or folder`));
  t.end();
});

test("lists the first three of each kind of many faults, and the number of the others", (t) => {
  const faults = [...numbers(9).map(broken), ...numbers(4).map(missing), { ...broken(9), kind: "value" as const }];
  t.same(faultLines(faults, false), [
    ...numbers(3).map((i) => `${file(i)}:1: invalid YAML: fault ${i}`),
    "and 6 more syntax errors in 6 files (-v lists all)",
    ...numbers(3).map((i) => `${file(i)}: no such file or folder`), "and 1 more such error in 1 file (-v lists all)",
    "09.yaml:1: invalid YAML: fault 9",
  ]);
  t.same(faultLines(faults, true).length, 14, "-v lists all");
  const warnings = faultLines(numbers(11).map(missing), false, "warning: ");
  t.match(warnings.at(-1), /^warning: and 8 more such errors in 8 files/);
  t.end();
});

const duplicates = Object.fromEntries(numbers(12).flatMap((i) => ["a", "b"].map((folder) => [
  `${folder}${i}.yaml`,
  `apiVersion: services.k8s.aws/v1alpha1\nkind: IAMRoleSelector\nmetadata: {name: s${i}}\nspec: {arn: ${folder}}\n`,
])));

test("each command that reads manifests folds many faults, and -v and JSON have all", async (t) => {
  const dir = t.testdir(duplicates);
  for (const [command, ...flags] of [["lint"], ["resolve"], ["audit"], ["map", "--html", "-"]] as const) {
    const argv = [command, ...flags];
    const { status, stderr } = await runCommand([...argv, dir]);
    t.equal(status, 2, command);
    const lines = stderr.trimEnd().split("\n");
    t.equal(lines.filter((line) => line.includes(": duplicate IAMRoleSelector")).length, 3, command);
    t.equal(lines.at(-1), "and 9 more duplicates in 9 files (-v lists all)", command);
    const all = await runCommand([...argv, "-v", dir]);
    t.equal(all.status, 2);
    t.equal(all.stderr.match(/: duplicate IAMRoleSelector/g)?.length, 12, command);
  }
  for (const output of ["json", "sarif", "junit"]) {
    const { stdout } = await runCommand(["lint", "-o", output, dir]);
    t.ok((stdout.match(/duplicate IAMRoleSelector/g)?.length ?? 0) >= 12, output);
  }
});

test("faults of YAML are of one kind each, whatever their messages say", async (t) => {
  const object = (i: number): string => "apiVersion: services.k8s.aws/v1alpha1\nkind: IAMRoleSelector\n"
    + `metadata: {name: s${i}}\nspec: {f${i}: x, f${i}: y}\n`;
  const dir = t.testdir(Object.fromEntries(numbers(6).flatMap((i) => [
    [`syntax-${i}.yaml`, `kind: ${"[".repeat(i + 1)}\n`], [`value-${i}.yaml`, object(i)],
  ])));
  const { stderr } = await runCommand(["resolve", dir]);
  t.match(stderr, /\nand 3 more syntax errors in 3 files \(-v lists all\)\n/);
  t.match(stderr, /\nand 3 more invalid values in 3 files \(-v lists all\)\n$/);
});
