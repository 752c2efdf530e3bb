import { CATALOGUE } from "../../shared/judges.ts";
import { test } from "tap";
import { ERRORS } from "../../shared/formats/errors.ts";
import { runCommand } from "./run-command.ts";

const SHOWN: readonly (readonly [title: string, code: string, stdout: string | RegExp])[] = [
  [
    "a check", "IRS-03",
    /^IRS-03: deny\n\nWhy: Controllers accept any ARN\.[^\n]+\n\nExample:\n {2}spec: [^\n]+\n\nFix: write [^\n]+\.\n$/,
  ],
  [
    "a check whose example has a safe repair", "IRS-08",
    /\nRepair of the example: spec\.namespaceSelector\.names\[1\]: remove this entry \(`lint --fix` does it\)\.\n$/,
  ],
  [
    "a check whose example has a repair that is not safe", "ACK-38",
    /\nRepair of the example: spec\.masterUserPassword\.namespace: write "team-a"\.\n$/,
  ],
  ["a check in lowercase", "ack-03", /^ACK-03: warn, deny in `audit`, waivable\n/],
  ["a check whose severity depends on the mode", "CM-01", /^CM-01: deny with `--mode carm`, otherwise warn\n/],
  ["a check whose severity is fixed", "FE-02", /^FE-02: deny, fixed\n/],
  [
    "an error code", "ERR_SELECTOR_CONFLICT",
    "ERR_SELECTOR_CONFLICT: HTTP status 409; a retry does not help\n\n"
      + "More than one IAMRoleSelector selects the resource.\n",
  ],
  ["an error after which a retry may help", "ERR_NOT_READY", /^ERR_NOT_READY: HTTP status 503; a retry may help\n/],
];
for (const [title, code, expected] of SHOWN) {
  test(`explains ${title}`, async (t) => {
    const { status, stdout, stderr } = await runCommand(["explain", code]);
    t.same({ status, stderr }, { status: 0, stderr: "" });
    if (typeof expected === "string") t.equal(stdout, expected);
    else t.match(stdout, expected);
  });
}

test("explains every check and error", async (t) => {
  const codes = [...CATALOGUE.map(({ id }) => id), ...Object.keys(ERRORS)];
  for (const code of codes) {
    const { status, stdout } = await runCommand(["explain", code]);
    t.equal(status, 0, code);
    t.ok(stdout.startsWith(code), code);
  }
});

test("exits 2 for a code that does not exist, and names similar codes", async (t) => {
  const similar = await runCommand(["explain", "IRS-99"]);
  t.match(similar, { status: 2, stdout: "" });
  t.match(similar.stderr, /^ack-role-resolver: no check and no error has the code "IRS-99"; similar codes: IRS-09/);
  t.equal(
    (await runCommand(["explain", "everything"])).stderr,
    'ack-role-resolver: no check and no error has the code "everything"; '
      + "docs/checks.md and docs/errors.md list the codes, such as IRS-30\n",
  );
});
