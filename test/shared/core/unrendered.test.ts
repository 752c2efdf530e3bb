import { runChecks } from "../../../shared/judges.ts";
import { INVENTORY_KINDS } from "../../../shared/kinds.ts";
import { test } from "tap";
import type { CheckInput } from "../../../shared/core/check.ts";
import { warnOfPlaceholders } from "../../../shared/core/unrendered.ts";
import { Inventory } from "../../../shared/core/inventory.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { placeholderIn } from "../../../shared/formats/names.ts";
import { SETTINGS_BY_DEFAULT } from "../objects.ts";

const FIX = "render the manifests first, for example with helm template, kustomize build or envsubst";

function check(object: JsonObject, input: Partial<CheckInput> = {}): readonly string[] {
  const inventory = new Inventory({ runtime: "ack", origin: "file" }, INVENTORY_KINDS);
  const complete: CheckInput = { object, old: null, requester: null, origin: "file", inventory, ...input };
  const { findings } = runChecks(complete, SETTINGS_BY_DEFAULT);
  return findings.filter(({ code }) => /^(ACK-1[0-2]|IRS-0[0-9]|NS-0[3-8]|CM)/.test(code))
    .map(({ code, severity, message }) => `${severity} ${code} ${message}`);
}

const bucket = (annotations: object): JsonObject => ({
  apiVersion: "s3.services.k8s.aws/v1alpha1", kind: "Bucket", metadata: { name: "a", annotations },
});

test("finds placeholders of Helm, envsubst, shells and documentation, and no others", (t) => {
  const placeholders = ["{{ .Values.x }}", "${X}", "$X", "$(X)", "<account>", "<aws account id>", "{{x}}", "${}"];
  for (const text of placeholders) {
    t.equal(placeholderIn(`arn:aws:iam::${text}:role/a`), text);
    t.equal(placeholderIn(text), text);
  }
  const values = ["", "a", "$", "$1", "a$", "{}", "{{", "1 < 2 > 1", "<>", "${", "{namespace}", "a{b}", "<1>", "$-"];
  for (const text of values) t.equal(placeholderIn(text), null, text);
  t.end();
});

test("warns once that a value of a manifest is not rendered, and denies nothing", (t) => {
  const region = check(bucket({ "services.k8s.aws/region": "$AWS_REGION" }));
  t.same(region, ['warn ACK-10 "$AWS_REGION" is not rendered: it contains the placeholder "$AWS_REGION"']);
  const adoption = { "services.k8s.aws/adoption-policy": "<policy>", "services.k8s.aws/adoption-fields": "${FIELDS}" };
  t.same(check(bucket({ ...adoption, "services.k8s.aws/deletion-policy": "{{ .Values.policy }}" })), [
    'warn ACK-11 "{{ .Values.policy }}" is not rendered: it contains the placeholder "{{ .Values.policy }}"',
    'warn ACK-12 "${FIELDS}" is not rendered: it contains the placeholder "${FIELDS}"',
    'warn ACK-12 "<policy>" is not rendered: it contains the placeholder "<policy>"',
  ]);
  const selector = {
    apiVersion: "services.k8s.aws/v1alpha1", kind: "IAMRoleSelector", metadata: { name: "a" },
    spec: { arn: "arn:aws:iam::<account>:user/${ROLE}", namespaceSelector: { names: [] } },
  };
  t.same(check(selector), [
    'warn IRS-03 "arn:aws:iam::<account>:user/${ROLE}" is not rendered: it contains the placeholder "<account>"',
  ], "one warning for several faults of the value");
  const names = ["team-a", "${TEAM}_x"];
  const listed = { ...selector, spec: { arn: "arn:aws:iam::111122223333:role/a", namespaceSelector: { names } } };
  t.same(check(listed), ['warn IRS-09 "${TEAM}_x" is not rendered: it contains the placeholder "${TEAM}"']);
  t.end();
});

test("quotes only the placeholder of an external ID, because an external ID is confidential", (t) => {
  const identity = {
    apiVersion: "infrastructure.cluster.x-k8s.io/v1beta2", kind: "AWSClusterRoleIdentity", metadata: { name: "a" },
    spec: { externalID: "s3cret ${X}" },
  };
  const inventory = new Inventory({ runtime: "ack", origin: "file" }, INVENTORY_KINDS);
  const input: CheckInput = { object: identity, old: null, requester: null, origin: "file", inventory };
  const messages = runChecks(input, SETTINGS_BY_DEFAULT).findings.map(({ message }) => message);
  t.ok(messages.includes('the external ID is not rendered: it contains the placeholder "${X}"'));
  t.notMatch(messages.join("\n"), /s3cret/);
  t.end();
});

test("denies a placeholder in a request, in an object of a cluster, and next to another wrong value", (t) => {
  const object = bucket({ "services.k8s.aws/region": "$AWS_REGION", "services.k8s.aws/deletion-policy": "Delete" });
  const denials = [
    'deny ACK-10 "$AWS_REGION" is not a region',
    'deny ACK-11 "Delete" is neither delete nor retain, so controllers treat it as retain',
  ];
  t.same(check(object, { origin: "cluster" }), denials);
  t.same(check(object, { requester: { username: "jane", groups: [] } }), denials);
  t.same(check(object).map((one) => one.slice(0, 11)), ["warn ACK-10", "deny ACK-11"]);
  t.end();
});

test("warns but does not deny if a check compares a value with a placeholder", (t) => {
  const finding = {
    code: "ACK-17", severity: "deny", path: ["metadata", "name"], message: 'the role is in account "${ACCOUNT}"',
    fix: "", waivable: true, waived: false,
  } as const;
  const [found] = warnOfPlaceholders([finding], { object: bucket({}), origin: "file", requester: null });
  t.same(found, { ...finding, severity: "warn", fix: FIX, repairs: [], waivable: false });
  t.end();
});

test("recognizes a placeholder in a field name", (t) => {
  const path = ["spec", { key: "${KEY}" }];
  const finding = {
    code: "X", severity: "deny", path, message: "wrong", fix: "", waivable: false, waived: false,
  } as const;
  const [found] = warnOfPlaceholders([finding, finding], {
    object: { spec: { "${KEY}": 1 } }, origin: "file", requester: null,
  });
  const message = '"${KEY}" is not rendered: it contains the placeholder "${KEY}"';
  t.match(found, { severity: "warn", message, fix: FIX });
  t.end();
});
