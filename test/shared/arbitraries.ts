import * as fc from "fast-check";
import type { ModelEntry, ModelLabelSelector, ModelResource, ModelSelector } from "./reference-model.ts";

// Generators use small alphabets, so that selectors often match resources and overlap. Each list of faulty values
// contains values that narrowly violate a rule.
export const GROUPS = ["s3.services.k8s.aws", "sqs.services.k8s.aws"] as const;
export const VERSIONS = ["v1alpha1", "v1"] as const;
export const KINDS = ["Bucket", "Queue"] as const;
/** No test stores the last namespace in an inventory. */
export const NAMESPACES = ["a", "b", "c", "unknown"] as const;
export const SELECTOR_NAMES = ["s1", "s2", "s3", "s4", "s5", "s6"] as const;

/** Generates annotations without `use-selector`, or with the name of a selector, an unknown name or an empty text. */
export const choice = fc
  .option(fc.constantFrom(...SELECTOR_NAMES, "absent", ""), { freq: 2 })
  .map((name): Readonly<Record<string, string>> => (
    name === null ? {} : { "ack-role-resolver.io/use-selector": name }
  ));

/** Generates annotations of a selector: mostly none, else session settings that can differ or be invalid. */
export const sessionSettings: fc.Arbitrary<Readonly<Record<string, string>>> = fc.oneof(
  { weight: 6, arbitrary: fc.constant({}) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      { "ack-role-resolver.io/external-id": "one" }, { "ack-role-resolver.io/external-id": "not one" },
      { "ack-role-resolver.io/session-tags": "for={group}" },
    ),
  },
);

const KEYS = ["team", "kubernetes.io/metadata.name", "constructor", "example.com/x"] as const;
const VALUES = ["", "a", "b"] as const;
const ROLES = ["arn:aws:iam::111122223333:role/one", "arn:aws-cn:iam::444455556666:role/a/b/two"] as const;
const FAULTY_ROLES = [
  "",
  "not-an-arn",
  "arn:aws:iam::111122223333",
  "arn:aws:iam::111122223333:user/jane",
  "arn:::::",
  "arn:aws:iam:eu-west-1:111122223333:role/x",
  "arn:aws:iam::11112222333:role/x",
  "arn:awsome:iam::111122223333:role/x",
  "arn:aws:sts::111122223333:role/x",
  "arn:aws:iam::111122223333:role/",
  "arn:aws:iam::111122223333:role/a b",
  "arn:aws:iam::111122223333:root",
] as const;
const FAULTY_NAMES = ["", "A", "a*", "-a"] as const;
const FAULTY_KEYS = ["", "bad key", "a/b/c", "/team", "Example.com/x", "__proto__"] as const;
const FAULTY_VALUES = ["bad value", "-a"] as const;

const either = <T>(good: readonly T[], faulty: readonly T[]): fc.Arbitrary<T> =>
  fc.oneof({ weight: 30, arbitrary: fc.constantFrom(...good) }, { weight: 1, arbitrary: fc.constantFrom(...faulty) });

const optional = <T,>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.option(arbitrary, { nil: undefined, freq: 2 });

/** Drops keys whose value is undefined, as JSON does. */
function compact<T extends object>(object: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return JSON.parse(JSON.stringify(object));
}

/** Uses `JSON.parse`, which makes `__proto__` an own key. */
const labelMap = (key: fc.Arbitrary<string>, value: fc.Arbitrary<string>): fc.Arbitrary<Record<string, string>> =>
  fc
    .array(fc.tuple(key, value), { maxLength: 2 })
    .map((pairs) =>
      JSON.parse(
        `{${[...new Map(pairs)].map(([name, text]) => `${JSON.stringify(name)}:${JSON.stringify(text)}`).join(",")}}`,
      ),
    );

export const labels = labelMap(fc.constantFrom(...KEYS), fc.constantFrom(...VALUES));

const values = fc.array(either(VALUES, FAULTY_VALUES), { maxLength: 2 });
const expression = fc.oneof(
  {
    weight: 20,
    arbitrary: fc.record({
      key: either(KEYS, FAULTY_KEYS),
      operator: fc.constantFrom("In", "NotIn"),
      values: fc.array(either(VALUES, FAULTY_VALUES), { minLength: 1, maxLength: 2 }),
    }),
  },
  {
    weight: 20,
    arbitrary: fc.record({ key: either(KEYS, FAULTY_KEYS), operator: fc.constantFrom("Exists", "DoesNotExist") }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      key: fc.constantFrom(...KEYS),
      operator: fc.constantFrom("In", "NotIn", "Exists", "DoesNotExist", "in", ""),
      values,
    }),
  },
);

export const labelSelector: fc.Arbitrary<ModelLabelSelector> = fc.record({
  matchLabels: optional(labelMap(either(KEYS, FAULTY_KEYS), either(VALUES, FAULTY_VALUES))),
  matchExpressions: optional(fc.array(expression, { maxLength: 2 })),
}).map(compact);

const part = (texts: readonly string[]): fc.Arbitrary<string | undefined> =>
  fc.constantFrom(...texts, "", "", undefined, undefined);

const entry: fc.Arbitrary<ModelEntry> = fc
  .oneof(
    { weight: 14, arbitrary: fc.record({ group: part(GROUPS), version: part(VERSIONS), kind: part(KINDS) }) },
    {
      weight: 4,
      arbitrary: fc.record({
        apiVersion: fc
          .constantFrom(...GROUPS)
          .chain((group) => fc.constantFrom(...VERSIONS).map((version) => `${group}/${version}`)),
        kind: part(KINDS),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        apiVersion: fc.constantFrom("s3.services.k8s.aws", "s3.services.k8s.aws/", "/v1", "g/v1/x", "g/v1", ""),
        group: fc.constantFrom(undefined, "", "g"),
        version: fc.constantFrom(undefined, "", "v1"),
        kind: part(KINDS),
      }),
    },
  )
  .map(compact);

/** Often generates an empty list, which matches everything. */
const some = <T,>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T[]> =>
  fc.array(arbitrary, { maxLength: 3, size: "medium" });

export const spec: fc.Arbitrary<ModelSelector["spec"]> = fc
  .record({
    arn: fc.oneof(
      { weight: 24, arbitrary: fc.constantFrom<unknown>(...ROLES) },
      { weight: 2, arbitrary: fc.constantFrom<unknown>(...FAULTY_ROLES) },
      { weight: 1, arbitrary: fc.constantFrom<unknown>(undefined, 5) },
    ),
    namespaceSelector: optional(
      fc
        .record({
          names: optional(
            fc.oneof(
              { weight: 20, arbitrary: fc.uniqueArray(either(NAMESPACES, FAULTY_NAMES), { maxLength: 3 }) },
              { weight: 2, arbitrary: some(either<string>(NAMESPACES, FAULTY_NAMES)) },
              { weight: 1, arbitrary: fc.constant("a") },
            ),
          ),
          labelSelector: optional(labelSelector),
        })
        .map(compact),
    ),
    resourceTypeSelector: optional(some(entry)),
    resourceLabelSelector: optional(labelSelector),
    unknownField: fc.oneof(
      { weight: 20, arbitrary: fc.constant(undefined) },
      { weight: 1, arbitrary: fc.constant(true) },
    ),
  })
  .map(compact);

export const resource: fc.Arbitrary<ModelResource> = fc.record({
  namespace: fc.constantFrom(...NAMESPACES),
  group: fc.constantFrom(...GROUPS),
  version: fc.constantFrom(...VERSIONS),
  kind: fc.constantFrom(...KINDS),
  labels,
});
