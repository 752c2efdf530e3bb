import { FAIL_WHEN_READY_ANNOTATION } from "../../shared/core/annotation-keys.ts";
import { type JsonObject, jsonPointer, stringAt } from "../../shared/formats/json.ts";
import { ownWebhooks } from "./own-webhooks.ts";
import type { TestedOperation } from "./watched-objects.ts";

interface Called {
  /** The names of the webhook. */
  readonly hosts: readonly string[];
  /** Whether a Pod of the Service is ready. */
  readonly isReady: (service: string) => boolean;
}

interface FailureChange {
  /** The names of the webhooks that change. */
  readonly names: readonly string[];
  readonly patch: readonly TestedOperation[];
}

/**
 * Returns the JSON patch that sets the failurePolicy `Fail` of the webhooks that the annotation names, once their
 * Service has a ready Pod. The patch tests the annotation, so that it does not change a configuration that another
 * client has just replaced. Nothing sets `Ignore`: a webhook that is down later stays `Fail`.
 */
export function failureChange(configuration: JsonObject, { hosts, isReady }: Called): FailureChange {
  const annotation = stringAt(configuration, "metadata", "annotations", FAIL_WHEN_READY_ANNOTATION) ?? "";
  const named = annotation.split(",");
  const due = ownWebhooks(configuration, hosts).filter(({ name, failurePolicy, clientConfig }) => (
    named.includes(name ?? "") && failurePolicy !== "Fail" && isReady(stringAt(clientConfig, "service", "name") ?? "")
  ));
  const path = jsonPointer("metadata", "annotations", FAIL_WHEN_READY_ANNOTATION);
  const patch = due.flatMap(({ index, name }): TestedOperation[] => [
    { op: "test", path, value: annotation },
    { op: "test", path: jsonPointer("webhooks", index, "name"), value: name },
    { op: "add", path: jsonPointer("webhooks", index, "failurePolicy"), value: "Fail" },
  ]);
  return { names: due.map(({ name }) => name ?? ""), patch };
}
