import { readFileSync } from "node:fs";
import path from "node:path";
import { Ajv } from "ajv";
import { test } from "tap";
import { parse } from "yaml";
import { valuesSchema } from "../manifests/values-schema.ts";
import { INJECT_LABEL } from "../shared/core/annotation-keys.ts";
import { field, stringAt } from "../shared/formats/json.ts";
import { codeBlocks } from "./documented-commands.ts";

const read = (page: string): string => readFileSync(path.join(import.meta.dirname, "../docs", page), "utf8");
const PAGE = read("injection.md");

test("the page of the injection patches the Deployment that a chart of ACK creates, with the label", async (t) => {
  const [, name, json = ""] = /^kubectl .* patch deployment (\S+) --type=merge -p '(.*)'$/m.exec(PAGE) ?? [];
  // The template app.fullname of the charts joins the names of the release and the chart.
  const [, release, chart] = /^helm template (\S+) \S+\/(\S+-chart) /m.exec(read("ack-charts.md")) ?? [];
  t.equal(name, `${release}-${chart}`);
  t.equal(stringAt(JSON.parse(json), "spec", "template", "metadata", "labels", INJECT_LABEL), "true");
});

test("the page of the injection shows values that the chart accepts", async (t) => {
  const ajv = new Ajv({ strict: false });
  const injection = ajv.compile(objectField(field(valuesSchema(), "properties"), "injection"));
  for (const [, block] of codeBlocks(PAGE, "yaml")) t.ok(injection(objectField(parse(block), "injection")), block);
  for (const name of ["AWS_ENDPOINT_URL_STS", "NODE_OPTIONS", "NODE_TLS_REJECT_UNAUTHORIZED", "a-b"]) {
    t.notOk(injection({ enabled: true, extraEnv: [{ name, value: "x" }] }), name);
  }
});

function objectField(object: unknown, name: string): object {
  return Object(field(object, name));
}
