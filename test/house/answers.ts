import process from "node:process";
import { runCommand } from "../cli/run-command.ts";
import { reviewOf } from "../webhook/reviews.ts";
import { webhookUnderTest } from "../webhook/webhook-under-test.ts";

const SELECTOR = {
  apiVersion: "services.k8s.aws/v1alpha1", kind: "IAMRoleSelector", metadata: { name: "other" },
  spec: { arn: "arn:aws:iam::111122223333:role/other", namespaceSelector: { names: ["team-a"] } },
};
const BUCKET = {
  apiVersion: "s3.services.k8s.aws/v1alpha1", kind: "Bucket", metadata: { name: "b", namespace: "team-a" }, spec: {},
};

/** Returns what `resolve` prints for a folder, and how the webhook answers reviews of a selector and a resource. */
export async function answers(examples: string): Promise<object> {
  const { status, stdout } = await runCommand(["resolve", examples, "-o", "json"]);
  const webhook = webhookUnderTest();
  const reviews = [
    await webhook.post("/validate/iamroleselectors", reviewOf(SELECTOR)),
    await webhook.post("/mutate/resources", reviewOf(BUCKET)),
    await webhook.post("/validate/resources", reviewOf(BUCKET)),
  ];
  await webhook.app.close();
  return { status, resolved: JSON.parse(stdout) as unknown, reviews: reviews.map(({ json }) => json) };
}

if (import.meta.main) process.stdout.write(JSON.stringify(await answers(process.argv[2] ?? "")));
