// A CI runner reads commands anywhere in what a step prints, so no command may print one that a checkout contains.
import { mkdir, writeFile } from "node:fs/promises";
import { type Test, test } from "tap";
import { parseAllDocuments } from "yaml";
import { runCommand } from "./run-command.ts";

/** Texts that GitHub, Azure Pipelines and TeamCity take for commands. */
const HOSTILE = [
  "##[stop-commands]x", "##vso[task.setvariable variable=a]b", "##teamcity[buildStop]", "::error::x",
  "::set-env name=A::b",
];
const COMMAND = /##[a-z]*\[|::[a-z][\w-]*(?: [^\r\n]*?)?::/i;

/** Writes a folder of which the names of files, of objects and of roles are hostile. */
async function checkout(t: Test): Promise<string> {
  const folder = t.testdir({});
  await Promise.all(HOSTILE.map(async (text, i) => {
    const name = `${i}${text}`;
    await mkdir(`${folder}/${name}`);
    const selector = JSON.stringify({
      apiVersion: "services.k8s.aws/v1alpha1", kind: "IAMRoleSelector", metadata: { name },
      spec: { arn: `arn:aws:iam::11112222333:role/${text}`, namespaceSelector: { names: [text] } },
    });
    const bucket = JSON.stringify({
      apiVersion: "s3.services.k8s.aws/v1alpha1", kind: "Bucket", metadata: { name: text, namespace: `team-${i}` },
    });
    await writeFile(`${folder}/${name}/${text}.yaml`, selector);
    await writeFile(`${folder}/${name}/bucket.yaml`, bucket);
    await writeFile(`${folder}/${name}/broken.yaml`, "apiVersion: [");
  }));
  return folder;
}

const COMMANDS: readonly string[] = [
  ...["text", "json", "sarif", "junit"].flatMap((output) => [`lint -o ${output} --skip-unreadable FOLDER`,
    `lint -o ${output} FOLDER`]),
  ...["text", "wide", "json"].map((output) => `resolve -o ${output} --skip-unreadable FOLDER`),
  ...["text", "json", "markdown"].map((output) => `impact -o ${output} --skip-unreadable --from=FOLDER FOLDER`),
  ...["text", "json", "sarif", "junit"].map((output) => `audit -o ${output} --skip-unreadable --from=FOLDER`),
  "why Bucket/::error::x -n team-3 --skip-unreadable --from=FOLDER",
  "why Bucket/##[stop-commands]x -n team-0 --skip-unreadable --from=FOLDER",
  "map --html=- --skip-unreadable FOLDER", "trust --skip-unreadable --from=FOLDER", "::error::x", "lint ##[error]x",
];

for (const command of COMMANDS) {
  test(`${command} prints no command to a CI runner`, async (t) => {
    const folder = await checkout(t);
    const argv = command.split(" ").map((word) => word.replace("FOLDER", folder));
    const { stdout, stderr } = await runCommand(argv);
    // The styles of a page contain texts such as `::before`.
    const printed = command.startsWith("map") ? /<script type="application\/json".*/.exec(stdout)?.[0] ?? "" : stdout;
    for (const line of `${printed}\n${stderr}`.split("\n")) t.notMatch(line, COMMAND);
    t.not(stdout + stderr, "");
  });
}

test("keeps the values of JSON", async (t) => {
  const folder = await checkout(t);
  const { stdout } = await runCommand(["lint", "-o", "json", "--skip-unreadable", folder]);
  const texts: string[] = [];
  JSON.parse(stdout, (_key, value: unknown) => typeof value === "string" ? texts.push(value) : 0);
  for (const [i, text] of HOSTILE.entries()) t.ok(texts.includes(`${i}${text}`), text);
});

test("keeps the values of YAML", async (t) => {
  const arn = "arn:aws:iam::111122223333:role/##[stop-commands]x/::error::/team-a";
  const folder = t.testdir({
    "map.yaml": JSON.stringify({
      apiVersion: "v1", kind: "ConfigMap", metadata: { name: "ack-role-account-map", namespace: "ack-system" },
      data: { "111122223333": arn },
    }),
    "namespace.yaml": JSON.stringify({
      apiVersion: "v1", kind: "Namespace",
      metadata: { name: "team-a", annotations: { "services.k8s.aws/owner-account-id": "111122223333" } },
    }),
  });
  const gates = ["--team-level-carm=false", "--service-level-carm=false"];
  const { stdout } = await runCommand(["migrate", "carm", ...gates, folder]);
  t.notMatch(stdout, COMMAND);
  const [selector] = parseAllDocuments(stdout).map((document): unknown => document.toJS());
  t.match(selector, { kind: "IAMRoleSelector", spec: { arn } });
});

test("escapes links in the messages of SARIF, and no other brackets", async (t) => {
  const bad = (arn: string): string => JSON.stringify({
    apiVersion: "services.k8s.aws/v1alpha1", kind: "IAMRoleSelector", metadata: { name: "a" }, spec: { arn },
  });
  const folder = t.testdir({
    "a.yaml": bad("a[help](https://example.com)"), "b.yaml": bad("b[0]"), "[help](example.com).json": "{",
  });
  const { stdout } = await runCommand(["lint", "-o", "sarif", folder]);
  const texts: string[] = [];
  // What a fix inserts into a file is no text for people.
  const shown = stdout.replaceAll(/"insertedContent": \{\s*"text": "(?:[^"\\]|\\.)*"\s*\}/g, '"insertedContent": {}');
  JSON.parse(shown, (key, value: unknown) => key === "text" && typeof value === "string" ? texts.push(value) : 0);
  for (const text of [String.raw`"a\[help\](https://example.com)"`, '"b[0]"', String.raw`\[help\](example.com).json:1: `]) {
    t.ok(texts.some((one) => one.includes(text)), text);
  }
  t.notOk(texts.some((text) => /(?<!\\)\]\(/.test(text)));
});
