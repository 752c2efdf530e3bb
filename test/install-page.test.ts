import { readFileSync } from "node:fs";
import path from "node:path";
import { Ajv } from "ajv";
import { test } from "tap";
import { parse, parseAllDocuments } from "yaml";
import { nameOf } from "../manifests/rbac.ts";
import { valuesSchema } from "../manifests/values-schema.ts";
import { stringAt } from "../shared/formats/json.ts";
import { runCommand } from "./cli/run-command.ts";
import { codeBlocks } from "./documented-commands.ts";

const PAGE = readFileSync(path.join(import.meta.dirname, "../docs/install.md"), "utf8");
const [VALUES = "", ROLES = ""] = codeBlocks(PAGE, "yaml").map(([, block]) => block);

test("the installation guide shows values that the chart accepts", (t) => {
  const ajv = new Ajv({ allErrors: true, strict: false });
  const errorsOf = (values: string): unknown => {
    ajv.validate(valuesSchema(), parse(values));
    // Helm adds the defaults of the other values.
    return ajv.errors?.filter(({ keyword }) => keyword !== "required").map(({ keyword }) => keyword);
  };
  t.same(errorsOf(VALUES), []);
  const misspelled = VALUES.replace("allowedAccounts", "allowedAcounts");
  t.same(errorsOf(misspelled), ["additionalProperties"], "a misspelled setting is invalid");
  t.end();
});

test("the installation guide finds the selectors that cannot be applied without the webhook", async (t) => {
  const [, flags = ""] = /^npx --no-install ack-role-resolver (lint --no-webhook) /m.exec(PAGE) ?? [];
  const [, spec = ""] = /for example\s`(namespaceSelector: [^`]*)`/.exec(PAGE) ?? [];
  const selector = (text: string): string => (
    "apiVersion: services.k8s.aws/v1alpha1\nkind: IAMRoleSelector\nmetadata: {name: a}\n"
      + `spec:\n  arn: arn:aws:iam::111122223333:role/a\n  ${text}\n`
  );
  const dir = t.testdir({ "byLabel.yaml": selector(spec.replace("names: [], ", "")), "fixed.yaml": selector(spec) });
  const lint = async (file: string): Promise<string> => (
    (await runCommand([...flags.split(" "), path.join(dir, file)])).stdout
  );
  t.match(await lint("byLabel.yaml"), /deny IRS-00 .*names/);
  t.match(await lint("fixed.yaml"), /1 checked, 0 denied/);
});

test("the installation guide names the roles of users, and the role of ACK-09 grants only the verb use", (t) => {
  const named = [...PAGE.matchAll(/^\| `(ack-role-resolver-[a-z-]+)` \|/gm)].map(([, name]) => name);
  t.same(named, ["selector-owner", "tenant"].map(nameOf));
  const [role, binding] = parseAllDocuments(ROLES).map((document): unknown => document.toJS());
  const rule = { apiGroups: ["services.k8s.aws"], resources: ["iamroleselectors"], verbs: ["use"] };
  t.match(role, { kind: "Role", rules: [rule] });
  t.match(binding, { roleRef: { kind: "Role", name: stringAt(role, "metadata", "name") } });
  t.equal(stringAt(binding, "metadata", "namespace"), stringAt(role, "metadata", "namespace"));
  t.end();
});
