import { test } from "tap";
import { ROLE } from "../../objects.ts";
import { specLines } from "../findings.ts";

type Context = Parameters<typeof specLines>[2];
const linesOf = (resourceTypeSelector: unknown, context?: Context): string[] =>
  specLines("IRS-12", { arn: ROLE, resourceTypeSelector }, context);
const PATH = "IRS-12 spec.resourceTypeSelector";
const FIX = "List each entry once, and set at least one of group (such as s3.services.k8s.aws), version and kind. "
  + "To select every kind, remove resourceTypeSelector.";

test("IRS-12: denies a type entry that has no group, version or kind", (t) => {
  const empty = [`${PATH}[0]: the entry is empty: it has no group, version or kind. ${FIX}`];
  for (const entry of [
    {},
    { group: "", version: "", kind: "" },
    { group: null, version: null, kind: null, apiVersion: null },
  ])
    t.same(linesOf([entry]), empty);
  for (const entry of [{ kind: "Bucket" }, { group: "g" }, { version: "v1" }]) t.same(linesOf([entry]), []);
  for (const none of [[], null, undefined]) t.same(linesOf(none), []);
  t.end();
});

test("IRS-12: denies a repeated type entry, even if one of the entries uses apiVersion", (t) => {
  const bucket = { group: "s3.services.k8s.aws", version: "v1alpha1", kind: "Bucket" };
  const listed = `${PATH}[1]: the entry {group: "s3.services.k8s.aws", version: "v1alpha1", kind: "Bucket"} is `
    + `already listed. ${FIX}`;
  t.same(linesOf([bucket, bucket]), [listed]);
  t.same(linesOf([{ apiVersion: "s3.services.k8s.aws/v1alpha1", kind: "Bucket" }, bucket]), [listed]);
  t.same(linesOf([bucket, { ...bucket, kind: "" }, { ...bucket, version: "" }, { ...bucket, group: "" }]), []);
  t.end();
});

test("IRS-12: denies an apiVersion that is not GROUP/VERSION", (t) => {
  const fix = "Set apiVersion to GROUP/VERSION, such as s3.services.k8s.aws/v1alpha1, or set only group to select "
    + "every version.";
  for (const apiVersion of ["s3.services.k8s.aws", "", "/v1", "g/", "g/v1/x"]) {
    t.same(linesOf([{ apiVersion, kind: "Bucket" }]), [
      `${PATH}[0].apiVersion: "${apiVersion}" is not GROUP/VERSION. ${fix}`,
    ]);
  }
  t.same(linesOf([{ apiVersion: "g/v1" }]), []);
  t.end();
});

test("IRS-12: denies an apiVersion in a type entry that also has a non-empty group or version", (t) => {
  const both = [
    `${PATH}[0].apiVersion: the entry sets apiVersion and also group or version, which have the same meaning. `
      + "Remove apiVersion, and set group and version.",
  ];
  t.same(linesOf([{ apiVersion: "g/v1", group: "g" }]), both);
  t.same(linesOf([{ apiVersion: "g/v1", version: "v1" }]), both);
  t.same(linesOf([{ apiVersion: "g/v1", group: "", version: null }]), []);
  t.end();
});

test("IRS-12: denies a stored apiVersion that the webhook did not rewrite, except with --runtime extended", (t) => {
  const stored = [
    `${PATH}[0].apiVersion: controllers do not read apiVersion, and the webhook did not replace it. `
      + "Replace apiVersion with group: g and version: v1, or let the webhook rewrite the entry "
      + "(/mutate/iamroleselectors).",
  ];
  t.same(linesOf([{ apiVersion: "g/v1", kind: "K" }], { origin: "cluster" }), stored);
  t.same(linesOf([{ apiVersion: "g/v1", kind: "K" }], { origin: "cluster", runtime: "extended" }), []);
  t.same(linesOf([{ apiVersion: "g/v1", kind: "K" }], { origin: "file" }), []);
  t.end();
});
