import { Model } from "../../page/view/model.ts";
import { FIRST_VIEW, type View } from "../../page/view/view-state.ts";
import type { JsonObject } from "../../shared/formats/json.ts";
import {
  bucketObject, FIRST, namespaceObject, roleIn, SECOND, selectorFor, selectorObject,
} from "../shared/objects.ts";
import { mapped } from "../shared/diagnosis/role-map/mapped.ts";

function bucketIn(namespace: string, name = "b"): JsonObject {
  return bucketObject({ name, namespace });
}

const NAMESPACES = { a1: "a", a2: "a", b1: "b", c1: "c", d1: "d" } as const;

/**
 * Five namespaces: a1 and a2 are equal, b1 uses another account, c1 has a conflict besides a queue that is resolved,
 * and d1 uses the default role. The selector `broken` is malformed.
 */
export const OBJECTS: readonly JsonObject[] = [
  ...Object.entries(NAMESPACES).map(([name, team]) => namespaceObject(name, { team })),
  selectorFor("first", FIRST, ["a1", "a2", "c1"]), selectorFor("second", SECOND, ["b1"]),
  selectorObject("buckets", {
    arn: roleIn(SECOND, "buckets"), namespaceSelector: { names: ["c1"] },
    resourceTypeSelector: [{ group: "s3.services.k8s.aws", version: "v1alpha1", kind: "Bucket" }],
  }),
  selectorObject("broken", { arn: "x", namespaceSelector: { names: ["d1"] } }),
  bucketIn("a1"), bucketIn("a2"), bucketIn("b1"), bucketIn("c1"), bucketIn("d1"), bucketIn("d1", "b2"),
  { ...bucketIn("c1", "q"), apiVersion: "sqs.services.k8s.aws/v1alpha1", kind: "Queue" },
];

export const MODEL: Model = new Model(mapped(OBJECTS));

export function viewWith(patch: Partial<View>): View {
  return { ...FIRST_VIEW, ...patch };
}
