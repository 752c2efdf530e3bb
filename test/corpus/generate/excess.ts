import { isObject, type Json, withValue } from "./json.ts";
import type { Random } from "./random.ts";

function nested(levels: number): unknown {
  let value: unknown = "end";
  for (let level = 0; level < levels; level++) value = { a: value };
  return value;
}

function entries(count: number): Record<string, string> {
  return Object.fromEntries(Array.from({ length: count }, (_, i) => [`key-${i}`, "v"]));
}

/** Changes of an object that exceed a limit of an object, of a selector, or of a review. */
const OBJECTS = {
  deep: (object: Json) => withValue(object, ["spec", "deep"], nested(101)),
  labels: (object: Json) => withValue(object, ["metadata", "labels"], entries(1_001)),
  annotations: (object: Json) => withValue(object, ["metadata", "annotations"], entries(1_001)),
  values: (object: Json) => withValue(object, ["spec", "values"], Array.from({ length: 20_001 }, () => 0)),
  names: (object: Json) => withValue(object, ["spec", "namespaceSelector", "names"], Object.keys(entries(1_001))),
  list: (object: Json) => withValue(object, ["spec", "allowedNamespaces", "list"], Object.keys(entries(20_001))),
  tags: (object: Json) => withValue(
    object, ["metadata", "annotations", "ack-role-resolver.io/session-tags"], "a=b,".repeat(9_000)
  ),
  review: (object: Json) => withValue(object, ["spec", "values"], Array.from({ length: 50_001 }, () => 0)),
  limit: (object: Json) => withValue(object, ["metadata", "annotations"], entries(1_000)),
} as const;

/** Changes of the request that exceed a limit. */
const REQUESTS = {
  name: (request: Json) => ({ ...request, name: "n".repeat(4_097) }),
  groups: (request: Json) => ({ ...request, userInfo: { username: "alice", groups: Object.keys(entries(10_001)) } }),
  namespace: (request: Json) => ({ ...request, namespace: "n".repeat(4_097) }),
} as const;

/** Returns the request with an object, a stored object or a name that is too large. */
export function withExcess(request: Json, random: Random): Json {
  if (random.chance(0.12)) return REQUESTS[random.pick(["name", "groups", "namespace"] as const)](request);
  const change = random.pick(Object.values(OBJECTS));
  const key = request["operation"] === "DELETE" ? "oldObject" : random.pick(["object", "object", "oldObject"]);
  const object = request[key];
  return isObject(object) ? { ...request, [key]: change(object) } : request;
}

/** A text that is larger than the largest review. */
export const HUGE = "x".repeat(7 * 1024 * 1024);
