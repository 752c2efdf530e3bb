import { test } from "tap";
import { ROLE } from "../../objects.ts";
import { specLines } from "../findings.ts";

type Context = Parameters<typeof specLines>[2];
const found = (resourceTypeSelector: unknown, context?: Context): string[] => specLines("IRS-12", { arn: ROLE, resourceTypeSelector }, context);
const PATH = "IRS-12 spec.resourceTypeSelector";
const FIX = "Name a group such as s3.services.k8s.aws, a version, a kind, or several of them, once; leave resourceTypeSelector out to select every kind.";

test("IRS-12: an entry that names nothing is caught", (t) => {
  const empty = [`${PATH}[0]: the entry is empty: it names no group, version or kind. ${FIX}`];
  for (const entry of [{}, { group: "", version: "", kind: "" }, { group: null, version: null, kind: null, apiVersion: null }]) t.same(found([entry]), empty);
  for (const entry of [{ kind: "Bucket" }, { group: "g" }, { version: "v1" }]) t.same(found([entry]), []);
  for (const none of [[], null, undefined]) t.same(found(none), []);
  t.end();
});

test("IRS-12: an entry that is repeated is caught, in whatever form it is written", (t) => {
  const bucket = { group: "s3.services.k8s.aws", version: "v1alpha1", kind: "Bucket" };
  const listed = `${PATH}[1]: the entry {group: "s3.services.k8s.aws", version: "v1alpha1", kind: "Bucket"} is listed already. ${FIX}`;
  t.same(found([bucket, bucket]), [listed]);
  t.same(found([{ apiVersion: "s3.services.k8s.aws/v1alpha1", kind: "Bucket" }, bucket]), [listed]);
  t.same(found([bucket, { ...bucket, kind: "" }, { ...bucket, version: "" }, { ...bucket, group: "" }]), []);
  t.end();
});

test("IRS-12: an apiVersion that is not GROUP/VERSION is caught", (t) => {
  const fix = "Write both, such as s3.services.k8s.aws/v1alpha1, or group alone for any version.";
  for (const apiVersion of ["s3.services.k8s.aws", "", "/v1", "g/", "g/v1/x"]) {
    t.same(found([{ apiVersion, kind: "Bucket" }]), [`${PATH}[0].apiVersion: "${apiVersion}" is not GROUP/VERSION. ${fix}`]);
  }
  t.same(found([{ apiVersion: "g/v1" }]), []);
  t.end();
});

test("IRS-12: an apiVersion beside group or version is caught, beside empty ones it is not", (t) => {
  const beside = [`${PATH}[0].apiVersion: apiVersion stands beside group or version, which say the same. Write group and version alone.`];
  t.same(found([{ apiVersion: "g/v1", group: "g" }]), beside);
  t.same(found([{ apiVersion: "g/v1", version: "v1" }]), beside);
  t.same(found([{ apiVersion: "g/v1", group: "", version: null }]), []);
  t.end();
});

test("IRS-12: an apiVersion that is stored unrewritten is caught under ack alone", (t) => {
  const stored = [
    `${PATH}[0].apiVersion: apiVersion was not rewritten, and controllers do not read it. `
      + "Write group: g and version: v1 instead, or let the webhook's /mutate/iamroleselectors rewrite it.",
  ];
  t.same(found([{ apiVersion: "g/v1", kind: "K" }], { origin: "cluster" }), stored);
  t.same(found([{ apiVersion: "g/v1", kind: "K" }], { origin: "cluster", runtime: "extended" }), []);
  t.same(found([{ apiVersion: "g/v1", kind: "K" }], { origin: "file" }), []);
  t.end();
});
