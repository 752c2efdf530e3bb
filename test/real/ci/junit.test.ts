import { spawnSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import process from "node:process";
import { test } from "tap";
import { printable } from "../../../shared/formats/text.ts";
import { runCommand } from "../../cli/run-command.ts";
import { runTool } from "../../programs/run-program.ts";

/** Prints the elements of a report as expat, the XML parser of Python, reads them. */
const PARSER = `
import json, sys, xml.etree.ElementTree as ET
def read(e): return {"tag": e.tag, **e.attrib, "text": (e.text or "").strip(), "in": [read(c) for c in e]}
print(json.dumps(read(ET.parse(sys.argv[1]).getroot())))
`;
const HOSTILE = "\u0000\u001b[2J]]>\ud800\ufffe</testsuite><!-- &amp; \"'\n";
const SHOWN = printable(HOSTILE).replace("\ufffe", "\ufffd");

test("a report of hostile names and values is well-formed XML", async (t) => {
  if (spawnSync("python3", ["--version"]).error !== undefined && process.env["CI"] !== "true") {
    t.plan(0, "python3 is missing");
    return;
  }
  const object = {
    apiVersion: "services.k8s.aws/v1alpha1", kind: "IAMRoleSelector", metadata: { name: HOSTILE },
    spec: { arn: HOSTILE, namespaceSelector: { names: [HOSTILE] } },
  };
  const dir = t.testdir({ "a&b<c>\"]]>.json": JSON.stringify(object), "broken.json": `{"${HOSTILE}` });
  const files = ["a&b<c>\"]]>.json", "broken.json"].map((name) => path.join(dir, name));
  const { stdout } = await runCommand(["lint", "-o", "junit", ...files]);
  const report = path.join(dir, "report.xml");
  await writeFile(report, stdout);
  const read: unknown = JSON.parse((await runTool("python3", ["-c", PARSER, report], dir)).stdout);
  t.match(read, {
    tag: "testsuites", tests: "2", failures: "1", errors: "1",
    in: [
      { tag: "testsuite", name: files[1], file: files[1], in: [{ tag: "testcase", in: [{ tag: "error" }] }] },
      {
        tag: "testsuite", name: files[0], file: files[0],
        in: [{ tag: "testcase", name: SHOWN, in: [{ tag: "failure", text: / deny IRS-/ }] }],
      },
    ],
  });
});
