import { ROLE } from "../objects.ts";
import { specLines } from "../core/findings.ts";
import { testRows } from "../rows.ts";

const PATH = "deny IRS-12 spec.resourceTypeSelector";
const EMPTY = `${PATH}[0]: the entry is empty: it has no group, version or kind. Set at least one of group (such as `
  + "s3.services.k8s.aws), version and kind.";
const LISTED = `${PATH}[1]: the entry {group: "s3.services.k8s.aws", version: "v1alpha1", kind: "Bucket"} is `
  + "already listed. Remove this entry.";
const BOTH = `${PATH}[0].apiVersion: the entry sets apiVersion and also group or version, which have the same meaning. `
  + "Write either apiVersion or group and version.";
const AGREE = `${PATH}[0].apiVersion: the entry sets apiVersion and also group or version, which have the same `
  + "meaning. Remove the field, set spec.resourceTypeSelector[0].group to \"s3.services.k8s.aws\" and set "
  + "spec.resourceTypeSelector[0].version to \"v1alpha1\".";
const bucket = { group: "s3.services.k8s.aws", version: "v1alpha1", kind: "Bucket" };
const withAPIVersion = { apiVersion: "s3.services.k8s.aws/v1alpha1", kind: "Bucket" };
const linesOf = (resourceTypeSelector: unknown, context?: Parameters<typeof specLines>[2]): string[] =>
  specLines("IRS-12", { arn: ROLE, resourceTypeSelector }, context);

testRows("IRS-12: denies empty and repeated type entries, and a malformed apiVersion", linesOf, [
  ["an empty entry", [{}], EMPTY],
  ["empty fields", [{ group: "", version: "", kind: "" }], EMPTY],
  ["null fields", [{ group: null, version: null, kind: null, apiVersion: null }], EMPTY],
  ["one field each", [{ kind: "Bucket" }, { group: "g" }, { version: "v1" }]],
  ["no entry", []],
  ["null", null],
  ["undefined", undefined],
  ["a repeated entry", [bucket, bucket], LISTED],
  ["a repeated entry with apiVersion", [withAPIVersion, bucket], LISTED],
  ["entries that differ", [bucket, { ...bucket, kind: "" }, { ...bucket, version: "" }, { ...bucket, group: "" }]],
  ...["s3.services.k8s.aws", "", "/v1", "g/", "g/v1/x"].map((apiVersion) => [
    `apiVersion "${apiVersion}"`, [{ apiVersion, kind: "Bucket" }],
    `${PATH}[0].apiVersion: "${apiVersion}" is not GROUP/VERSION. Set apiVersion to GROUP/VERSION, such as `
      + "s3.services.k8s.aws/v1alpha1, or set only group to select every version.",
  ] as const),
  ["an apiVersion", [{ apiVersion: "g/v1" }]],
  ["apiVersion and group", [{ apiVersion: "g/v1", group: "g" }], BOTH],
  ["apiVersion and version", [{ apiVersion: "g/v1", version: "v1" }], BOTH],
  ["apiVersion and another version", [{ apiVersion: "s3.services.k8s.aws/v1alpha1", version: "v1" }], BOTH],
  ["apiVersion and its group", [{ apiVersion: "s3.services.k8s.aws/v1alpha1", group: "s3.services.k8s.aws" }], AGREE],
  ["an empty entry beside others", [{}, bucket], EMPTY],
  ["apiVersion and empty fields", [{ apiVersion: "g/v1", group: "", version: null }]],
]);

testRows("IRS-12: denies a stored apiVersion that the webhook did not rewrite, except with --runtime extended",
  (context: Parameters<typeof specLines>[2]) => linesOf([{ apiVersion: "s3.services.k8s.aws/v1" }], context), [
    ["stored", { origin: "cluster" },
      `${PATH}[0].apiVersion: controllers do not read apiVersion, and the webhook did not replace it. `
        + "Remove the field, set spec.resourceTypeSelector[0].group to \"s3.services.k8s.aws\" and set "
        + "spec.resourceTypeSelector[0].version to \"v1\"."],
    ["--runtime extended", { origin: "cluster", runtime: "extended" }],
    ["in a manifest", { origin: "file" }],
  ]);
