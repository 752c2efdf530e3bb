import path from "node:path";
import { conflictSentence } from "../../shared/ack/selection.ts";
import { kindDenial, unknownDenial } from "../../shared/capa/identity-denials.ts";
import { lookUpEntry } from "../../shared/carm/carm-maps.ts";
import { decisionSettings } from "../../shared/core/context.ts";
import { CATALOGUE } from "../../shared/judges.ts";
import { test } from "tap";
import { ERRORS, ResolverError } from "../../shared/formats/errors.ts";
import { readSettings } from "../../shared/server/read-settings.ts";
import { notLoaded } from "../../shared/server/readiness.ts";
import { loopbackAddress } from "../../sidecar/options.ts";
import { asResolverError } from "../../webhook/route.ts";
import { runCommand } from "./run-command.ts";

const EXAMPLES = path.join(import.meta.dirname, "../../manifests/examples");

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
      + "Why: More than one IAMRoleSelector selects the resource.\n\n"
      + "Example:\n  Cannot determine which IAMRoleSelector to use. Conflicting IAMRoleSelectors: "
      + "[storefront, storefront-media]\n\n"
      + "Fix: narrow one of the selectors, so that only one selects the resource, or name one in the annotation "
      + "ack-role-resolver.io/use-selector; `ack-role-resolver why TYPE/NAME` prints commands for both.\n",
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

test("the command of TR-01 asks for the caller and no more, and works once the ARN is written", async (t) => {
  const { stdout } = await runCommand(["explain", "TR-01"]);
  const [, command = ""] = /`ack-role-resolver ([^`]+)`/.exec(stdout) ?? [];
  const argv = command.replace("--cluster", `--from ${EXAMPLES}`).split(" ");
  const pasted = await runCommand(argv);
  t.match(pasted, { status: 2, stderr: /--caller "ARN_OF_THE_CALLER" is not the ARN of a role/ });
  const role = "arn:aws:iam::111122223333:role/ack";
  const answered = await runCommand(argv.map((word) => (word === "ARN_OF_THE_CALLER" ? role : word)));
  t.match(JSON.parse(answered.stdout), { roles: Array });
});

test("explains every check and error", async (t) => {
  const codes = [...CATALOGUE.map(({ id }) => id), ...Object.keys(ERRORS)];
  for (const code of codes) {
    const { status, stdout } = await runCommand(["explain", code]);
    t.equal(status, 0, code);
    t.match(stdout, new RegExp(`^${code}: [^\\n]+\\n\\nWhy: \\S[^]+\\n\\nExample:\\n  \\S[^]+\\n\\nFix: \\S`), code);
  }
});

test("the example of an error is what the program writes", async (t) => {
  const settings = decisionSettings(readSettings("lint", { cluster: true }, {}));
  const identity = { kind: "AWSClusterRoleIdentity", name: "team-a", namespace: null };
  const ofMap = (data: ReadonlyMap<string, string> | null): { code: string | null; message: string } => {
    const entry = { via: "account-map", map: "ack-role-account-map", id: "111122223333" } as const;
    return { message: "", ...lookUpEntry(data, "s3.services.k8s.aws", entry, settings) };
  };
  const user = "arn:aws:iam::111122223333:user/shop";
  const thrown = [
    () => readSettings("lint", { mode: "x" }, {}), () => loopbackAddress("0.0.0.0:8080"),
    () => { throw asResolverError(new TypeError("x")); }, () => { throw notLoaded({ lastSyncMs: null }); },
  ].map((run) => {
    try {
      run();
    } catch (error) {
      if (error instanceof ResolverError) return error;
    }
    return { code: null, message: "nothing was thrown" };
  });
  const written = [
    ...thrown, { code: "ERR_SELECTOR_CONFLICT", message: conflictSentence(["storefront", "storefront-media"]) },
    unknownDenial(identity, null), kindDenial({ ...identity, kind: "AWSClusterRoleIdentities" }, false),
    ofMap(null), ofMap(new Map()), ofMap(new Map([["111122223333", ""]])), ofMap(new Map([["111122223333", user]])),
  ];
  const examples = new Map(Object.entries(ERRORS).map(([code, { example }]) => [code, example]));
  for (const { code, message } of written) {
    t.ok(message.startsWith(examples.get(String(code)) ?? "none"), `${code}: ${message}`);
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
