import { readFile } from "node:fs/promises";
import path from "node:path";
import { test } from "tap";
import type { RoleMap } from "../../../shared/diagnosis/role-map/role-map.ts";
import { runCommand } from "../run-command.ts";
import { STATE } from "../state.ts";

const HEALTHY = `apiVersion: services.k8s.aws/v1alpha1
kind: IAMRoleSelector
metadata: {name: team-b}
spec: {arn: "arn:aws:iam::444455556666:role/team-b", namespaceSelector: {names: [team-b]}}
---
apiVersion: s3.services.k8s.aws/v1alpha1
kind: Bucket
metadata: {name: b1, namespace: team-b}
`;

/** Returns the maps in a page. */
function mapsIn(html: string): readonly RoleMap[] {
  const [, data = ""] = /<script type="application\/json" id="data">(.*)<\/script>/.exec(html) ?? [];
  // oxlint-disable-next-line typescript/no-unsafe-assignment -- the data of the page
  const { maps }: { readonly maps: readonly RoleMap[] } = JSON.parse(data);
  return maps;
}

test("writes one file with the same bytes for the same input, and prints what is wrong", async (t) => {
  const dir = t.testdir({ "state.yaml": STATE });
  const [one, other] = ["one.html", "other.html"].map((name) => path.join(dir, name));
  const { status, stdout, stderr } = await runCommand(["map", path.join(dir, "state.yaml"), "--html", one ?? ""]);
  t.equal(status, 1, "a conflict");
  t.equal(stderr, "");
  t.equal(stdout, `${one}: 3 resources in 2 namespaces; 1 conflict, 1 malformed, 1 default\n`);
  await runCommand(["map", path.join(dir, "state.yaml"), "--html", other ?? ""]);
  const html = await readFile(one ?? "", "utf8");
  t.equal(await readFile(other ?? "", "utf8"), html);
  t.match(mapsIn(html), [{ root: null, totals: { resources: 3, namespaces: 2, selectors: 3 }, moves: null }]);
  t.notMatch(html, /https?:\/\/(?!www\.w3\.org\/2000\/svg)/, "the page names no server");
});

test("prints the page with --html -, and nothing else on standard output", async (t) => {
  const { status, stdout, stderr } = await runCommand(["map", "-", "--html", "-"], { stdin: HEALTHY });
  t.equal(status, 0);
  t.match(stdout, /^<!doctype html>\n[^]*<\/html>\n$/);
  t.match(stderr, "-: 1 resource in 1 namespace; nothing is wrong\n");
});

test("a hostile name ends neither the data nor the element that contains it", async (t) => {
  const stdin = HEALTHY.replace("name: b1", String.raw`name: "</script><script>alert(1)</script><!--"`);
  const { stdout } = await runCommand(["map", "-", "--html", "-"], { stdin });
  t.equal(stdout.match(/<script/g)?.length, 2);
  t.match(mapsIn(stdout)[0]?.uses, [[0, 0, 0, 1, ["</script><script>alert(1)</script><!--"]]]);
});

test("has a map for each root", async (t) => {
  const dir = t.testdir({ clusters: { dev: { "a.yaml": HEALTHY }, prod: { "a.yaml": HEALTHY } } });
  const { stdout } = await runCommand(["map", dir, "--html", "-"]);
  t.same(mapsIn(stdout).map(({ root }) => path.basename(root ?? "")), ["dev", "prod"]);
});

test("shows only the objects of --only", async (t) => {
  const { stdout } = await runCommand(["map", "-", "--html", "-", "--only", "namespace=team-b"], { stdin: STATE });
  t.match(mapsIn(stdout), [{ totals: { resources: 1 }, namespaces: [{ name: "team-b" }] }]);
});

test("objects that were not judged are in the map, and set the exit status on request", async (t) => {
  const dir = t.testdir({
    "a.yaml": HEALTHY, "patch.yaml": HEALTHY,
    "kustomization.yaml": "resources: [a.yaml]\npatches: [{path: patch.yaml}]\n",
  });
  const { status, stdout } = await runCommand(["map", dir, "--html", "-", "--fail-on", "unjudged"]);
  t.equal(status, 1);
  const unjudged = [{ file: path.join(dir, "patch.yaml"), what: "2 objects in Kustomize patches" }];
  t.match(mapsIn(stdout), [{ unjudged }]);
});

test("states what is missing or wrong, and writes no page", async (t) => {
  const dir = t.testdir({ "a.yaml": HEALTHY, "bad.yaml": "a: [\n" });
  const file = path.join(dir, "no folder/map.html");
  const cases = [
    [["map", dir], "--html: required; the page to write, such as role-map.html, or - for standard output"],
    [["map", "--html", "x.html"], "no manifests are given: pass files, folders, - for standard input, or --cluster"],
    [["map", path.join(dir, "a.yaml"), "--html", file], "--html: cannot write .* \\(ENOENT\\); create its folder"],
    [["map", dir, "--html", file], "bad\\.yaml:"],
    [["impact", dir, "--from", dir, "--html", "-"], "--html -: standard output has the report; pass a file"],
  ] as const;
  for (const [argv, message] of cases) {
    const { status, stdout, stderr } = await runCommand(argv);
    t.match({ status, stdout }, { status: 2, stdout: "" }, argv.join(" "));
    t.match(stderr, new RegExp(message));
  }
});

test("impact writes the page of the change, and its output names it", async (t) => {
  const dir = t.testdir({ "a.yaml": HEALTHY, "b.yaml": HEALTHY.replace("444455556666", "111122223333") });
  const [before, after, file] = ["a.yaml", "b.yaml", "map.html"].map((name) => path.join(dir, name));
  const argv = ["impact", "--from", before ?? "", after ?? "", "--html", file ?? ""];
  const text = await runCommand(argv);
  t.match(text.stdout, new RegExp(`\n\nRole map before and after: ${file}\n$`));
  t.match((await runCommand([...argv, "-o", "markdown"])).stdout, `\n\nRole map before and after: \`${file}\`\n`);
  t.match(await runCommand([...argv, "-o", "json"]), { status: text.status, stdout: /^\{/ });
  const [map] = mapsIn(await readFile(file ?? "", "utf8"));
  t.match(map?.moves, [[0, 0, "account", 1, 0, 1, ["b1"]]]);
  t.same(map?.reasons.map(({ role }) => map.roles[role ?? -1]?.account), ["111122223333", "444455556666"]);
});
