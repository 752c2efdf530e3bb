import { readFileSync } from "node:fs";
import { test } from "tap";
import { kindListText, renewedList } from "../../build/kind-list.ts";
import { BUNDLED_KINDS, typesIn } from "../../shared/ack/bundled-types.ts";

const [group, version] = ["s3.services.k8s.aws", "v1alpha1"];
const LIST = { date: "2026-01", kinds: { "sqs.services.k8s.aws": { v1alpha1: ["Queue"] }, [group]: { v1: ["Old"] } } };

test("the kinds of CustomResourceDefinitions replace those of their groups, and other groups stay", (t) => {
  const types = [
    { group, version, kind: "Bucket" }, { group, version, kind: "AccessPoint" },
    { group, version: "v1", kind: "Bucket" },
    { group: "example.com", version, kind: "Widget" },
  ];
  const renewed = renewedList(LIST, types, "2026-12");
  t.same(renewed, { date: "2026-12", kinds: {
    "sqs.services.k8s.aws": { v1alpha1: ["Queue"] }, [group]: { v1alpha1: ["Bucket", "AccessPoint"], v1: ["Bucket"] },
  } });
  const text = kindListText(renewed);
  t.match(text, /"s3\.services[^]*"v1"[^]*"v1alpha1"[^]*"AccessPoint",\n {4}"Bucket"\n[^]*"sqs\.services/, "sorted");
  t.equal(kindListText(JSON.parse(text)), text);
  t.end();
});

test("the bundled list is what its kinds print", (t) => {
  const file = readFileSync(new URL("../../shared/core/ack-kinds.json", import.meta.url), "utf8");
  t.equal(kindListText(renewedList({ date: "", kinds: {} }, [...typesIn(BUNDLED_KINDS)], BUNDLED_KINDS.date)), file);
  t.end();
});
