import { test } from "tap";
import { formatTable, widthOf, wrapLines } from "../../../cli/output/terminal.ts";
import { runCommand } from "../run-command.ts";
import { STATE } from "../state.ts";

test("a table shortens details before names, and keeps names distinct", (t) => {
  const cells = [["NAME", "DETAIL"], ...["a", "b"].map((letter) => [
    `common-start-${letter}-common-end-that-is-long`, "111122223333/a-long-role",
  ])];
  t.same(formatTable(cells, { width: 55, firstDetail: 1 }), [
    "NAME                                    DETAIL",
    "common-start-a-common-end-that-is-long  …/a-long-role",
    "common-start-b-common-end-that-is-long  …/a-long-role",
  ]);
  t.same(formatTable(cells, { width: 40, firstDetail: 1 }), [
    "NAME                      DETAIL",
    "common-start-a-com…-long  …/a-long-role",
    "common-start-b-com…-long  …/a-long-role",
  ]);
  const long = [["NAME", "ROLE"], ["short-name-of-a-bucket", "111122223333/a-role-whose-name-is-very-long"]];
  t.same(formatTable(long, { width: 48, firstDetail: 1 })[1], "short-name-of-a-bucket  …/a-role-whose-name-is-…");
  t.same(formatTable(long, { width: 24, firstDetail: 1 })[1], "shor…ket  …/a-role-whos…", "names are cut last");
  t.same(formatTable([["A"], ["1-end-end"], ["2-end-end"]], { width: 1 }), ["A", "1-en…end", "2-en…end"]);
  t.same(formatTable([["A"], ["start-start-1"], ["start-start-2"]], { width: 8 }), ["A", "star…t-1", "star…t-2"]);
  t.end();
});

test("the width of the output is COLUMNS, else the width of the terminal, else 80", (t) => {
  for (const [stream, environment, width] of [
    [{ isTTY: true, columns: 132 }, {}, 132],
    [{ isTTY: true, columns: 132 }, { COLUMNS: "100" }, 100],
    [{ isTTY: true, columns: 0 }, {}, 80],
    [{ isTTY: true }, { COLUMNS: "" }, 80],
    [{ isTTY: false, columns: 132 }, { COLUMNS: "0" }, 80],
    [{}, { COLUMNS: "wide" }, 80],
  ] as const) t.equal(widthOf(stream, environment), width, JSON.stringify([stream, environment]));
  t.end();
});

test("wraps text at spaces, but no command that users copy", (t) => {
  const fix = "  fix: set `kubectl annotate -n a b` or run helm template . | ack-role-resolver lint -; or wait";
  t.same(wrapLines([fix], 24), [
    "  fix: set", "    `kubectl annotate -n a b`", "    or run",
    "    helm template . | ack-role-resolver lint -;", "    or wait",
  ]);
  t.same(wrapLines(["a b"], Infinity), ["a b"]);
  t.end();
});

test("findings and the summary fit a terminal, and are complete in a pipe", async (t) => {
  for (const command of ["lint", "audit"]) {
    const lines = async (terminal: boolean): Promise<string[]> => {
      const environment = { NO_COLOR: "1", COLUMNS: "100" };
      const options = { stdin: STATE, terminal, columns: 80, environment };
      return (await runCommand([command, "-"], options)).stdout.split("\n");
    };
    for (const line of await lines(true)) t.ok(line.length <= 100, line);
    t.ok((await lines(false)).some((line) => line.length > 100), command);
  }
});

const COLORED: readonly (readonly [argv: readonly string[], text: string])[] = [
  [["audit", "-"], "\n1  resource in conflict\n"],
  [["lint", "-"], "\u001b[31mdeny\u001b[39m IRS-02"],
  [["resolve", "-"], "\u001b[32mselected\u001b[39m"],
  [["resolve", "-", "--explain"], "\u001b[32mselects the resource\u001b[39m"],
  [["impact", "--from", "STATE", "CHANGE"], "\u001b[31mother account\u001b[39m"],
];

test("prints colors on a terminal unless NO_COLOR or TERM=dumb is set", async (t) => {
  const change = STATE.replace("111122223333:role/team-a", "444455556666:role/team-a");
  const folder = t.testdir({ STATE, CHANGE: change });
  for (const [argv, text] of COLORED) {
    const words = argv.map((word) => (/^[A-Z]+$/.test(word) ? `${folder}/${word}` : word));
    t.match((await runCommand(words, { stdin: STATE, terminal: true })).stdout, text, argv.join(" "));
    for (const environment of [{ NO_COLOR: "1" }, { TERM: "dumb" }]) {
      t.notMatch((await runCommand(words, { stdin: STATE, terminal: true, environment })).stdout, "\u001b");
    }
  }
});

const escape = String.raw`\e[2J\n`;
const MANIFESTS = `apiVersion: services.k8s.aws/v1alpha1
kind: IAMRoleSelector
metadata: {name: "evil${escape}"}
spec: {arn: "arn:aws:iam::111122223333:role/${escape}", namespaceSelector: {names: ["team-a${escape}"]}}
---
apiVersion: s3.services.k8s.aws/v1alpha1
kind: "Bucket${escape}"
metadata: {name: "b${escape}", namespace: "team-a${escape}", annotations: {services.k8s.aws/region: "eu${escape}"}}
---
`;

test("escapes control characters and line breaks that manifests contain", async (t) => {
  for (const [argv, stdin] of [
    [["lint", "-"], MANIFESTS],
    [["resolve", "-"], MANIFESTS],
    [["resolve", "-", "--explain"], MANIFESTS],
    [["resolve", "-"], MANIFESTS + MANIFESTS],
    [["audit", "-"], MANIFESTS],
    [["lint", "-"], `"${escape}": 1\n"${escape}": 2\n`],
  ] as const) {
    const { stdout, stderr } = await runCommand(argv, { stdin });
    const printed = stdout + stderr;
    t.match(printed, String.raw`\u001b[2J\u000a`, argv.join(" "));
    t.notMatch(printed, "\u001b", argv.join(" "));
  }
});
