import { namespace, resource, stored } from "./ack-objects.ts";
import type { Aim } from "./aims.ts";
import type { RandomInventory } from "./inventories.ts";
import { at, type Json, textAt, withValue } from "./json.ts";
import { Random } from "./random.ts";
import { changed, type SubjectName, SUBJECTS } from "./subjects.ts";

const DELETED = "2026-01-01T00:00:00Z";

/** Returns the request of a review without its user. `old` is the stored object of an update or a deletion. */
export function requestFor(written: Json, operation: string, old: Json | null = null): Json {
  const apiVersion = textAt(written, "apiVersion");
  const [group, version] = apiVersion.includes("/") ? apiVersion.split("/") : ["", apiVersion];
  const isDeletion = operation === "DELETE";
  return {
    uid: "u-1", kind: { group, version, kind: written["kind"] }, operation,
    name: at(written, "metadata", "name") ?? "", namespace: at(written, "metadata", "namespace") ?? "",
    object: isDeletion ? null : written, oldObject: isDeletion ? written : old, dryRun: false,
  };
}

/** Returns a request that changes an object of the inventory, or creates one. */
export function randomRequest(
  { objects, number }: RandomInventory, subject: SubjectName, operation: string, random: Random,
): Json {
  const { create, includes } = SUBJECTS[subject];
  const existing = objects.filter(includes);
  const old = existing.length > 0 && random.chance(0.95) ? random.pick(existing) : stored(create(random), random);
  if (operation === "DELETE") return deletion(old, random);
  if (operation === "UPDATE") return update(old, subject, random);
  const object = subject === "resource" && random.chance(0.06) ? inLateNamespace(number, random) : create(random);
  const written = changedTimes(object, subject, random.pick([0, 1, 1, 2, 2, 3]), random);
  return withOptions(requestFor(random.chance(0.03) ? unnamed(written) : written, operation), random);
}

/** Returns a request that makes the change, or another change of such an object if the inventory has none. */
export function aimedRequest({ objects }: RandomInventory, aim: Aim, random: Random): Json {
  const { subject, operation, of = () => true, field = null } = aim;
  const { create, includes } = SUBJECTS[subject];
  const existing = objects.filter((object) => includes(object) && of(object));
  const found = existing.length > 0 ? random.pick(existing) : stored(create(random), random);
  if (operation === "DELETE") return requestFor(found, operation);
  const before = operation === "UPDATE" ? found : copied(found, random);
  const after = field === null
    ? changed(before, subject, random)
    : withValue(before, field[0], random.pick(field[1]));
  return withOptions(requestFor(after, operation, operation === "UPDATE" ? found : null), random);
}

export function changedTimes(object: Json, subject: SubjectName, times: number, random: Random): Json {
  let result = object;
  for (let time = 0; time < times; time++) result = changed(result, subject, random);
  return result;
}

/** The reviews of a deleted collection have no name. */
function deletion(old: Json, random: Random): Json {
  const request = requestFor(old, "DELETE");
  return random.chance(0.05) ? withValue(request, ["name"], undefined) : request;
}

function update(old: Json, subject: SubjectName, random: Random): Json {
  const object = changedTimes(old, subject, random.pick([1, 1, 2, 2, 3]), random);
  const before = random.chance(0.05) ? withValue(old, ["metadata", "deletionTimestamp"], DELETED) : old;
  const request = withOptions(requestFor(object, "UPDATE", before), random);
  return random.chance(0.07) ? { ...request, subResource: random.pick(["status", "finalize", "scale"]) } : request;
}

function withOptions(request: Json, random: Random): Json {
  return random.chance(0.1) ? { ...request, dryRun: true } : request;
}

/** Returns the object without a name, which the API server generates later. */
function unnamed(object: Json): Json {
  return withValue(withValue(object, ["metadata", "name"], undefined), ["metadata", "generateName"], "gen-");
}

/** Returns a new object with the spec of a stored object. */
function copied(found: Json, random: Random): Json {
  const object = withValue(withValue(found, ["metadata", "name"], `copy-${random.below(5)}`), ["status"], undefined);
  return withValue(withValue(object, ["metadata", "uid"], undefined), ["metadata", "resourceVersion"], undefined);
}

/** A resource in a namespace that the watch has not reported yet, or that does not exist. */
function inLateNamespace(number: number, random: Random): Json {
  return resource(random, "new", random.pick([`late-${number}-${random.below(1000)}`, "gone", "unread"]));
}

/** Returns the Namespace that the API server returns for a name that the watch has not reported. */
export function fetchedNamespace(name: string): Json | "absent" | "unknown" {
  if (name.startsWith("late-")) return namespace(name, new Random(name.length, 7));
  return name === "gone" ? "absent" : "unknown";
}
