import type { JsonObject } from "../../../shared/formats/json.ts";

/** Returns a policy whose statements are about all actions and resources, unless they say which. */
export function statements(...all: readonly JsonObject[]): JsonObject {
  return { Version: "2012-10-17", Statement: all.map((one) => ({ ...actionsOf(one), ...resourcesOf(one), ...one })) };
}

function actionsOf(statement: JsonObject): JsonObject {
  return "NotAction" in statement ? {} : { Action: "*" };
}

function resourcesOf(statement: JsonObject): JsonObject {
  return "NotResource" in statement ? {} : { Resource: "*" };
}
