import type { JsonObject } from "../../shared/formats/json.ts";
import { LIMITS } from "../../shared/core/limits.ts";
import { reviewOf } from "../../test/webhook/reviews.ts";
import { webhookUnderTest } from "../../test/webhook/webhook-under-test.ts";
import { measureBlock, type TaskTimes } from "../event-loop.ts";
import { atMost, type Figure } from "../figure.ts";
import type { Row } from "../row.ts";

/** The size of the largest object that the API server accepts from a client. */
const MAX_OBJECT_BYTES = 3 * 1024 * 1024;
const RUNS = 7;
const RESPONSE_LIMIT_MS = 10_000;
/** The target for the response time if the object is within the limits, in ms. */
const WITHIN_MS = 10;
/** The target for the longest time for which any body blocks the event loop, in ms. */
const BLOCK_MS = 100;

/** A part of a review that has a size limit. */
interface Sized {
  readonly name: string;
  /** The largest size within the limits. */
  readonly size: number;
  readonly path: string;
  readonly object: (size: number) => JsonObject;
  /** The target for the response time at this size, in ms. Default: 10. */
  readonly targetMs?: number;
}

function times<Item>(size: number, item: (i: number) => Item): Item[] {
  return Array.from({ length: size }, (_, i) => item(i));
}

function mapOf(size: number): JsonObject {
  return Object.fromEntries(times(size, (i) => [`key-${i}`, "value"]));
}

function bucket(metadata: JsonObject, spec: unknown = {}): JsonObject {
  const named = { name: "b", namespace: "team-a", ...metadata };
  return { apiVersion: "s3.services.k8s.aws/v1alpha1", kind: "Bucket", metadata: named, spec };
}

function selector(spec: JsonObject, annotations: JsonObject = {}): JsonObject {
  const arn = "arn:aws:iam::111122223333:role/a";
  return {
    apiVersion: "services.k8s.aws/v1alpha1", kind: "IAMRoleSelector", metadata: { name: "a", annotations },
    spec: { arn, ...spec },
  };
}

function nested(depth: number): unknown {
  return times(depth, () => 0).reduce<unknown>((inner) => ({ a: inner }), 1);
}

/** The number of values of a Bucket outside of its spec. */
const OTHER_VALUES = 10;
const { objectValues, metadataEntries, selectorNamespaces, selectorTypes, selectorLabels } = LIMITS;
const ANNOTATION_BYTES = 256 * 1024;
const RESOURCES = "/validate/resources";
const SELECTORS = "/validate/iamroleselectors";

const SIZED: readonly Sized[] = [
  // Each of the two objects exceeds the limit of an object, but the review does not exceed the limit of a review.
  { name: "fields of each object in a review", size: LIMITS.reviewValues.value / 2 - 5 * OTHER_VALUES, path: RESOURCES,
    object: (size) => bucket({}, mapOf(size)), targetMs: BLOCK_MS },
  { name: "strings in a list", size: objectValues.value - OTHER_VALUES, path: RESOURCES,
    object: (size) => bucket({}, { addresses: times(size, (i) => `10.0.${i}/32`) }) },
  { name: "fields of one object", size: objectValues.value - OTHER_VALUES, path: RESOURCES,
    object: (size) => bucket({}, mapOf(size)) },
  { name: "objects with different fields", size: (objectValues.value - OTHER_VALUES) / 2, path: RESOURCES,
    object: (size) => bucket({}, { list: times(size, (i) => ({ [`key-${i}`]: 0 })) }) },
  { name: "levels of an object", size: LIMITS.objectDepth.value - OTHER_VALUES, path: RESOURCES,
    object: (size) => bucket({}, nested(size)) },
  { name: "labels", size: metadataEntries.value, path: RESOURCES, object: (size) => bucket({ labels: mapOf(size) }) },
  { name: "annotations", size: metadataEntries.value, path: RESOURCES,
    object: (size) => bucket({ annotations: mapOf(size) }) },
  { name: "bytes of an annotation that is a list", size: ANNOTATION_BYTES, path: RESOURCES,
    object: (size) => bucket({ annotations: { "services.k8s.aws/ignore-field-drift": "a,".repeat(size / 2) } }) },
  { name: "bytes of a waiver", size: ANNOTATION_BYTES, path: RESOURCES,
    object: (size) => bucket({ annotations: { "ack-role-resolver.io/allow": "a,".repeat(size / 2) } }) },
  { name: "bytes of a string", size: ANNOTATION_BYTES, path: RESOURCES,
    object: (size) => bucket({}, { policy: "a".repeat(size) }) },
  { name: "namespace names", size: selectorNamespaces.value, path: SELECTORS,
    object: (size) => selector({ namespaceSelector: { names: times(size, (i) => `team-${i}`) } }) },
  { name: "type entries", size: selectorTypes.value, path: SELECTORS,
    object: (size) => selector({ resourceTypeSelector: times(size, (i) => ({ kind: `Kind${i}` })) }) },
  { name: "matchLabels", size: selectorLabels.value, path: SELECTORS,
    object: (size) => selector({ resourceLabelSelector: { matchLabels: mapOf(size) } }) },
  { name: "unknown fields", size: LIMITS.objectValues.value - OTHER_VALUES, path: SELECTORS,
    object: (size) => selector(mapOf(size)) },
  { name: "bytes of session tags", size: LIMITS.annotationCharacters.value, path: SELECTORS,
    object: (size) => selector({}, { "ack-role-resolver.io/session-tags": "a=b,".repeat(size / 4) }) },
];

/**
 * Measures reviews of an UPDATE whose objects are at the limits, and of an UPDATE whose objects have the same shape but
 * a size of 3 MiB.
 */
export const LIMITS_ROW: Row = {
  name: "hostile-shapes", title: "reviews of objects at the limits, and of 3 MiB",
  measure: async () => {
    const figures: Figure[] = [];
    for (const { name, size, path, object, targetMs = WITHIN_MS } of SIZED) {
      const within = object(size);
      // Runs the tasks one after the other, because concurrent tasks would block each other.
      // oxlint-disable-next-line no-await-in-loop
      const small = (await review(path, within)).map(({ totalMs }) => totalMs);
      const response = `${Math.floor(size)} ${name}: response`;
      figures.push({ name: response, ours: small, unit: "ms", goal: atMost(targetMs, "value") });
      const largest = object(Math.floor(size * MAX_OBJECT_BYTES / JSON.stringify(within).length));
      // oxlint-disable-next-line no-await-in-loop
      const large = (await review(path, largest)).map(({ blockMs }) => blockMs);
      const block = `3 MiB of ${name}: longest block`;
      figures.push({ name: block, ours: large, unit: "ms", goal: atMost(BLOCK_MS, "value") });
    }
    return figures;
  },
};

/** Returns the times of an UPDATE in several runs. */
async function review(path: string, object: JsonObject): Promise<readonly TaskTimes[]> {
  const body = JSON.stringify(reviewOf(object, { operation: "UPDATE", oldObject: { ...object, status: {} } }));
  const webhook = webhookUnderTest();
  const all: TaskTimes[] = [];
  for (let i = 0; i < RUNS; i++) {
    // oxlint-disable-next-line no-await-in-loop
    all.push(await measureBlock(() => webhook.post(path, body), RESPONSE_LIMIT_MS));
  }
  return all;
}
