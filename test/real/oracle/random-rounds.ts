import * as fc from "fast-check";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { KINDS, labels } from "../../shared/arbitraries.ts";
import { bucketObject, mapObject, namespaceObject, selectorObject } from "../../shared/objects.ts";

/** The account of the controller's own identity: what moto returns for keys that it did not issue. */
export const OWN_ACCOUNT = "123456789012";
const OTHER_ACCOUNT = "222222222222";
const BUCKETS = 200;
const NAMESPACES = ["a", "b", "c", "d", "e", "f", "g", "h"] as const;
/** The selectors and their roles, which the API server does not let change. Controllers ignore a malformed ARN. */
const ROLES = {
  ...Object.fromEntries(["one", "two", "three"].map((name) => [name, roleIn(OWN_ACCOUNT, name)])),
  other: roleIn(OTHER_ACCOUNT, "other"),
  malformed: "arn:aws:iam:role/malformed",
};

function roleIn(account: string, name: string): string {
  return `arn:aws:iam::${account}:role/${name}`;
}

/** A state of the cluster, in which controllers resolve the role of each bucket. */
export interface Round {
  readonly selectors: readonly JsonObject[];
  /** The names of the selectors that do not exist. */
  readonly removed: readonly string[];
  /** Namespaces, and CARM maps. */
  readonly context: readonly JsonObject[];
  readonly buckets: readonly JsonObject[];
}

const maybe = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => (
  fc.option(arbitrary, { nil: undefined, freq: 2 })
);

/** Drops keys whose value is undefined, as JSON does. */
const compact = (object: object): JsonObject => JSON.parse(JSON.stringify(object));

const matchLabels = fc.record({ matchLabels: labels });
const criteria = fc.record({
  namespaceSelector: fc.record({ names: fc.subarray([...NAMESPACES]), labelSelector: maybe(matchLabels) }),
  resourceTypeSelector: maybe(fc.array(fc.record({
    group: fc.constantFrom("", "s3.services.k8s.aws"), version: fc.constantFrom("", "v1alpha1"),
    kind: fc.constantFrom("", ...KINDS),
  }), { maxLength: 2 })),
  resourceLabelSelector: maybe(matchLabels),
});
const selectors = fc.tuple(...Object.entries(ROLES).map(([name, arn]) => (
  fc.tuple(fc.constantFrom(true, true, true, false), criteria).map(([exists, spec]) => (
    { name, object: exists ? selectorObject(name, compact({ arn, ...spec })) : null }
  ))
)));

const owners = fc.record({
  "services.k8s.aws/owner-account-id": maybe(fc.constantFrom(OWN_ACCOUNT, OTHER_ACCOUNT, "free")),
  "services.k8s.aws/team-id": maybe(fc.constantFrom("a", "b")),
}).map(compact);
const namespaces = fc.tuple(...NAMESPACES.map((name) => (
  fc.tuple(labels, owners).map(([own, annotations]) => namespaceObject(name, own, annotations))
)));

const role = maybe(fc.constantFrom(
  roleIn(OWN_ACCOUNT, "carm"), roleIn(OWN_ACCOUNT, "team"), roleIn(OTHER_ACCOUNT, "carm"), "", "no-role",
));
const maps = fc.tuple(
  fc.record(Object.fromEntries(
    [OWN_ACCOUNT, OTHER_ACCOUNT, `s3.${OTHER_ACCOUNT}`, `sqs.${OTHER_ACCOUNT}`, "free"].map((key) => [key, role]),
  )),
  fc.record({ a: role, "s3.a": role, b: role }),
).map(([accounts, teams]) => [
  mapObject("ack-role-account-map", compact(accounts)), mapObject("ack-role-team-map", compact(teams)),
]);

const bucketLabels = fc.array(labels, { minLength: BUCKETS, maxLength: BUCKETS });

export const rounds: fc.Arbitrary<Round> = fc.record({ selectors, namespaces, maps, bucketLabels }).map((round) => ({
  selectors: round.selectors.flatMap(({ object }) => (object === null ? [] : [object])),
  removed: round.selectors.flatMap(({ name, object }) => (object === null ? [name] : [])),
  context: [...round.namespaces, ...round.maps],
  buckets: round.bucketLabels.map((own, i) => (
    bucketObject({ name: `b-${i}`, namespace: NAMESPACES[i % NAMESPACES.length] ?? "", labels: own })
  )),
}));
