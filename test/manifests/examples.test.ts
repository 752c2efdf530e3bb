import { runChecks } from "../../shared/judges.ts";
import { resolve } from "../../shared/core/resolve.ts";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { test } from "tap";
import { findingLine } from "../../shared/core/check.ts";
import { queryOf } from "../../shared/core/ack-resource.ts";
import type { JsonObject } from "../../shared/formats/json.ts";
import { isACKGroup, isSelector } from "../../shared/core/ack-groups.ts";
import { missingFields, unknownFields } from "../../shared/core/shape.ts";
import { objectReference } from "../../shared/formats/object-meta.ts";
import { ACK_FIELDS } from "../../shared/core/iamroleselector.ts";
import { completionPatch } from "../../shared/ack/selector.ts";
import { readManifests } from "../../shared/files/manifest-reader.ts";
import { inventoryWith, SETTINGS_BY_DEFAULT } from "../shared/objects.ts";

const FOLDER = path.join(import.meta.dirname, "../../manifests/examples");

/** Returns the objects of the example files. `edit` changes the text of each file before the file is parsed. */
function examples(edit: (text: string) => string = (text) => text): readonly JsonObject[] {
  const files = readdirSync(FOLDER, { recursive: true, encoding: "utf8" });
  return files.filter((file) => file.endsWith(".yaml")).toSorted().flatMap((file) => {
    const { manifests, faults } = readManifests(edit(readFileSync(path.join(FOLDER, file), "utf8")), file);
    if (faults.length > 0) throw new Error(JSON.stringify(faults));
    return manifests.map(({ object }) => object);
  });
}

function resolved(objects: readonly JsonObject[]): Record<string, string> {
  const inventory = inventoryWith(objects, { origin: "file" });
  const resources = objects.filter((object) => isACKGroup(objectReference(object).group));
  const queries = resources.map((object) => queryOf(object, "default"));
  return Object.fromEntries(queries.map((query) => {
    const { outcome, selectors } = resolve(inventory, query, SETTINGS_BY_DEFAULT);
    return [
      `${query.namespace} ${query.kind} ${query.name}`,
      [outcome, ...selectors.map(({ name }) => name)].join(" "),
    ];
  }));
}

test("the examples contain a resource for each resolution outcome", (t) => {
  t.same(resolved(examples()), {
    "analytics Bucket lake": "selected analytics",
    "analytics-ingest Queue clickstream": "default",
    "payments-prod Table ledger": "selected payments-prod",
    "payments-prod Queue refunds": "selected payments-prod",
    "payments-prod Role ledger-reader": "selected platform-iam",
    "payments-staging Queue refunds": "selected payments-staging",
    "sandbox Bucket hack-day": "default",
    "storefront Bucket invoices": "selected storefront",
    "storefront Bucket product-videos": "conflict storefront storefront-media",
    "storefront Table carts": "selected storefront",
  });
  t.end();
});

test("the examples contain one malformed selector and no other finding", (t) => {
  const findings = examples().flatMap((object) =>
    runChecks({ object, old: null, requester: null, origin: "file" }, SETTINGS_BY_DEFAULT).findings.map(
      (finding) => `${objectReference(object).name}: ${findingLine(finding)}`,
    ),
  );
  t.same(findings, [
    'analytics-ingest: IRS-02 spec.arn: "arn:aws:iam:444455556666:role/ack/analytics-ingest" is not an ARN: ' +
      "it has fewer than six parts separated by ':'. " +
      'Write "arn:aws:iam::444455556666:role/ack/analytics-ingest".',
  ]);
  t.end();
});

test("the malformed selector selects the queue after the ARN of the selector is corrected", (t) => {
  const corrected = examples((text) => text.replace("iam:444455556666", "iam::444455556666"));
  t.equal(resolved(corrected)["analytics-ingest Queue clickstream"], "selected analytics-ingest");
  t.end();
});

test("the examples contain two accounts, and ACK's CRD accepts every selector", (t) => {
  const selectors = examples().filter(isSelector);
  const accounts = new Set(JSON.stringify(selectors).match(/\d{12}/g));
  t.same([...accounts].toSorted(), ["111122223333", "444455556666"]);
  for (const selector of selectors) {
    const { name } = objectReference(selector);
    t.same([...missingFields(ACK_FIELDS, selector), ...unknownFields(ACK_FIELDS, selector)], [], name);
    t.same(completionPatch(selector), [], name);
  }
  t.end();
});
