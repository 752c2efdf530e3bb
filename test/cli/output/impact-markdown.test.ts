import { test } from "tap";
import { runCommand } from "../run-command.ts";

const ROLE = "arn:aws:iam::111122223333:role/a";
const selector = (name: string, arn: string, ...names: readonly string[]): object => ({
  apiVersion: "services.k8s.aws/v1alpha1", kind: "IAMRoleSelector", metadata: { name },
  spec: { arn, namespaceSelector: { names } },
});
const bucket = (name: string, namespace = "team-a"): object => (
  { apiVersion: "s3.services.k8s.aws/v1alpha1", kind: "Bucket", metadata: { name, namespace } }
);
const text = (objects: readonly object[]): string => objects.map((one) => JSON.stringify(one)).join("\n---\n");

test("prints the changes as one table, and what the webhook would deny as code", async (t) => {
  const state = [selector("a", ROLE, "team-a"), bucket("b1"), bucket("b2", "team-b")];
  const change = [selector("a", ROLE.replace("1111", "4444"), "team-a"), selector("b", ROLE, "team-b")];
  const dir = t.testdir({ "state.yaml": text(state) });
  const argv = ["impact", "--from", dir, "-", "-o", "markdown"];
  const { status, stdout } = await runCommand(argv, { stdin: text(change) });
  t.equal(status, 1);
  t.equal(stdout, [
    "**2 resources: 1 other account, 1 now selected, 0 unchanged**",
    "",
    "| namespace | resource | change | before | after |",
    "| --- | --- | --- | --- | --- |",
    "| `team-a` | `Bucket/b1` | **other account** | `111122223333` | `444422223333` |",
    "| `team-b` | `Bucket/b2` | now selected | `the controller's own` | `111122223333/a` |",
    "",
    "**The webhook would deny**",
    "",
    "    -:1: deny IRS-07 IAMRoleSelector a spec.arn",
    `        the role changes from "${ROLE}" to "${ROLE.replace("1111", "4444")}"`,
    "        fix: create a selector that has another name, the new role and the annotation "
      + "ack-role-resolver.io/replaces: NAME of this selector. Delete this selector once no resource needs it",
    "",
  ].join("\n"));
});

const HOSTILE = "@octocat ` | \\| \\` <img src=x> [a](http://example.com) \n/merge\n```\n#1";

test("hostile names cannot mention anybody, add links or end their cell", async (t) => {
  const state = [bucket(HOSTILE, HOSTILE), bucket("b1")];
  const change = [selector(HOSTILE, ROLE, HOSTILE), selector("a", ROLE), { ...bucket("b2"), kind: `${HOSTILE}\\` }];
  const dir = t.testdir({ "state.json": text(state.slice(0, 1)), "b.json": text(state.slice(1)) });
  const argv = ["impact", "--from", `${dir}/state.json`, "--from", `${dir}/b.json`, "-", "-o", "markdown"];
  const { stdout } = await runCommand(argv, { stdin: text(change) });
  t.match(stdout, "octocat");
  const [table = "", denials = ""] = stdout.split("\n\n**The webhook would deny**\n\n");
  // Without its code spans, each row has only the words of this program.
  for (const row of table.split("\n").slice(4)) {
    t.match(row.replaceAll(/`[^`]*`/g, "x"), /^\| (x )?\| x \| (\*\*)?[a-z ]+(\*\*)? \| x \| x \|$/);
  }
  for (const line of denials.trimEnd().split("\n")) t.match(line, /^ {4}/);
});

test("has less than 60 kB, counts the rest, and does not depend on the order of the input", async (t) => {
  const names = Array.from({ length: 2_000 }, (_, i) => `bucket-${"x".repeat(200)}-${i}`);
  const run = async (buckets: readonly object[]): Promise<string> => {
    const dir = t.testdir({ "state.yaml": text(buckets) });
    const denied = names.map((_, i) => selector(`s${i}`, `${i}${"é".repeat(100)}`, "team-b"));
    const stdin = text([selector("a", ROLE, "team-a"), ...denied]);
    return (await runCommand(["impact", "--from", dir, "-", "-o", "markdown"], { stdin })).stdout;
  };
  const buckets = names.map((name) => bucket(name));
  const stdout = await run(buckets);
  t.ok(Buffer.byteLength(stdout) < 60_000);
  t.match(stdout, /\n\nand 1\d{3} more changes\n\n\*\*The webhook would deny\*\*\n[^]*\n\nand 1\d{3} more denials\n$/);
  t.equal(await run(buckets.toReversed()), stdout);
});

test("several roots share the table, which names the root of each change", async (t) => {
  const state = (): { "state.yaml": string } => ({ "state.yaml": text([selector("a", ROLE, "team-a"), bucket("b1")]) });
  const dir = t.testdir({ before: { dev: state(), prod: state() }, after: {
    dev: { "selector.yaml": text([selector("a", ROLE.replace("1111", "4444"), "team-a")]) },
    prod: { "selector.yaml": text([selector("a", ROLE, "team-a")]) },
  } });
  const { stdout } = await runCommand(["impact", "--from", `${dir}/before`, `${dir}/after`, "-o", "markdown"]);
  t.match(stdout, /^- `\S+dev`: 1 resource: 1 other account, 0 unchanged\n- `\S+prod`: 1 resource: 1 unchanged\n\n/);
  t.match(stdout, /\n\| `\S+dev` \| `team-a` \| `Bucket\/b1` \| \*\*other account\*\* \| /);
});
