import { test } from "tap";
import { fixtureText, golden } from "./reviews.ts";
import { webhookUnderTest } from "./webhook-under-test.ts";

const VALIDATE_SELECTORS = [
  "selector-create", "selector-create-malformed", "selector-update-old-faults", "selector-update-new-fault",
  "selector-update-finalizers", "selector-update-being-deleted", "selector-delete", "selector-create-waived",
  "selector-create-waiver-ignored", "config-map-create",
];
const MUTATE_SELECTORS = [
  "selector-create-api-version-form", "selector-create", "selector-delete", "selector-update-being-deleted",
];
const MUTATE_RESOURCES = [
  "bucket-create-selected", "bucket-create-forged", "bucket-create-conflict", "bucket-create-default",
  "bucket-update-drift", "bucket-delete", "config-map-create",
];
const VALIDATE_RESOURCES = [
  "bucket-create-selected", "bucket-create-forged", "bucket-create-conflict", "bucket-create-default",
  "bucket-create-annotated", "bucket-update-drift", "bucket-update-region", "bucket-update-finalizers", "bucket-delete",
  "bucket-delete-foreign", "config-map-create",
];
const CASES = [
  ...VALIDATE_SELECTORS.map((name) => ["validate-iamroleselectors", "/validate/iamroleselectors", name] as const),
  ...MUTATE_SELECTORS.map((name) => ["mutate-iamroleselectors", "/mutate/iamroleselectors", name] as const),
  ...MUTATE_RESOURCES.map((name) => ["mutate-resources", "/mutate/resources", name] as const),
  ...VALIDATE_RESOURCES.map((name) => ["validate-resources", "/validate/resources", name] as const),
];

const webhook = webhookUnderTest();

for (const [prefix, path, name] of CASES) {
  test(`${path} returns the golden response for ${name}`, async (t) => {
    const { status, type, text } = await webhook.post(`${path}?timeout=10s`, fixtureText(name));
    t.equal(text, golden(`${prefix}.${name}`, text));
    t.equal(status, 200);
    t.equal(type, "application/json");
    t.equal((await webhook.post(path, fixtureText(name))).text, text, "a repeated request returns the same response");
  });
}
