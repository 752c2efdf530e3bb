import { selector } from "./ack-objects.ts";
import { type Aim, AIMS } from "./aims.ts";
import { HUGE, withExcess } from "./excess.ts";
import type { RandomInventory } from "./inventories.ts";
import { isObject, type Json, withValue } from "./json.ts";
import { roleIn, type User, USERS } from "./names.ts";
import { Random } from "./random.ts";
import { aimedRequest, changedTimes, randomRequest, requestFor } from "./requests.ts";
import { PATHS, SUBJECT_WEIGHTS, type SubjectName, SUBJECTS } from "./subjects.ts";

/** A request to the webhook. */
export interface Review {
  readonly name: string;
  readonly path: string;
  readonly body: string;
  readonly contentType: string;
  /** Whether the webhook has loaded the inventory. */
  readonly isLoaded: boolean;
  /**
   * `simultaneous`: sent while the change of the previous review is pending. `patched`: the object of the previous
   * review with the patch of its answer.
   */
  readonly follows: "nothing" | "simultaneous" | "patched";
}

/** The number of reviews of each inventory. */
export const REVIEWS = 100;
/** The last reviews of each inventory are pairs, of which the second one depends on the first one. */
const FIRST_PAIR = 84;
const FIRST_SIMULTANEOUS = 92;

/** Returns a random review of a change of the inventory. It depends only on the inventory and the number. */
export function review(inventory: RandomInventory, number: number): Review {
  const index = number < FIRST_PAIR ? 0 : (number - FIRST_PAIR) % 2;
  const random = new Random(inventory.number, number - index + 1);
  if (number < FIRST_PAIR) return single(inventory, random);
  return number < FIRST_SIMULTANEOUS ? patched(random, index) : simultaneous(random, index);
}

function single(inventory: RandomInventory, random: Random): Review {
  const aim = random.chance(0.25) ? random.pick(AIMS) : null;
  const subject = aim?.subject ?? random.weighted(SUBJECT_WEIGHTS);
  const user = userOf(subject, random);
  const operation = aim?.operation ?? operationOf(subject, random);
  const change = aim === null
    ? randomRequest(inventory, subject, operation, random)
    : aimedRequest(inventory, aim, random);
  const request = disturbed({ ...change, userInfo: USERS[user] }, random);
  const path = pathOf(subject, operation, aim, random);
  return {
    name: `${operation} ${subject} ${user}`, path: random.chance(0.3) ? `${path}?timeout=10s` : path,
    ...bodyOf(request, random), isLoaded: !random.chance(0.035), follows: "nothing",
  };
}

/** Few reviews have another path than their kind. Deletions seldom have the path of mutations. */
function pathOf(subject: SubjectName, operation: string, aim: Aim | null, random: Random): string {
  const [usual = "", other = usual] = SUBJECTS[subject].paths;
  if (aim?.path !== undefined) return aim.path;
  if (random.chance(0.015)) return random.pick(PATHS);
  return random.chance(operation === "DELETE" ? 0.03 : 0.2) ? other : usual;
}

function userOf(subject: SubjectName, random: Random): User {
  if (random.chance(0.35)) return random.pick(SUBJECTS[subject].users);
  return random.weighted<User>({
    tenant: 10, admin: 3, waiver: 3, deployer: 2, ack: 1, eks: 1, capa: 1, capi: 1, namespaces: 0.5, collector: 0.5,
    anonymous: 0.3,
  });
}

function operationOf(subject: SubjectName, random: Random): string {
  if (subject === "pod") return random.weighted({ CREATE: 18, UPDATE: 1, DELETE: 1 });
  return random.weighted({ CREATE: 8, UPDATE: 9, DELETE: 4, CONNECT: 0.05 });
}

/** Makes few requests too large, and gives few a field that the API server never sends in this form. */
function disturbed(request: Json, random: Random): Json {
  if (random.chance(0.03)) return withExcess(request, random);
  return random.chance(0.02) ? malformed(request, random) : request;
}

function malformed(request: Json, random: Random): Json {
  const [path, value] = random.pick<readonly [readonly string[], unknown]>([
    [["uid"], undefined], [["operation"], "PATCH"], [["object"], "text"], [["object"], null], [["oldObject"], null],
    [["kind"], undefined], [["kind", "kind"], "K".repeat(5_000)], [["userInfo"], undefined],
    [["userInfo", "groups"], "text"], [["namespace"], 5], [["object", "metadata"], null],
  ]);
  return withValue(request, path, value);
}

function reviewBody(request: Json): string {
  return JSON.stringify({ apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", request });
}

function bodyOf(request: Json, random: Random): Pick<Review, "body" | "contentType"> {
  const body = reviewBody(request);
  const contentType = "application/json";
  const way = random.weighted({ valid: 1_000, cut: 3, version: 2, type: 2, empty: 1, huge: 0.6 });
  if (way === "cut") return { body: body.slice(0, random.below(body.length)), contentType };
  if (way === "version") return { body: body.replace("admission.k8s.io/v1", "$&beta1"), contentType };
  if (way === "type") return { body, contentType: "text/plain" };
  if (way === "huge") return { body: reviewBody(withHugeObject(request)), contentType };
  return { body: way === "empty" ? "" : body, contentType };
}

function withHugeObject(request: Json): Json {
  const key = isObject(request["object"]) ? "object" : "oldObject";
  return withValue(request, [key, "spec", "huge"], HUGE);
}

const PAIRED = { contentType: "application/json", isLoaded: true };

/** The mutating review of a new object, and then its validating review. */
function patched(random: Random, index: number): Review {
  const subject = random.pick(["pod", "pod", "resource", "cluster", "selector"] as const);
  const { create, paths: [validating = "", mutating = ""] } = SUBJECTS[subject];
  const object = changedTimes(create(random), subject, random.pick([0, 0, 1]), random);
  const user = random.pick(["tenant", "deployer", "admin"] as const);
  const body = reviewBody({ ...requestFor(object, "CREATE"), userInfo: USERS[user] });
  const name = `CREATE ${subject} ${user}`;
  return index === 0
    ? { ...PAIRED, name, path: mutating, body, follows: "nothing" }
    : { ...PAIRED, name, path: validating, body, follows: "patched" };
}

/** Two new selectors that conflict, or two identities that form a cycle. */
function simultaneous(random: Random, index: number): Review {
  const isCycle = random.chance(0.3);
  const names = ["rival-a", "rival-b"] as const;
  const [own = "", other = ""] = index === 0 ? names : names.toReversed();
  const object = isCycle ? linkedIdentity(own, other) : rivalSelector(own, random);
  return {
    ...PAIRED, name: `CREATE pair of ${isCycle ? "identities" : "selectors"} admin`,
    path: isCycle ? "/validate/identities" : "/validate/iamroleselectors",
    body: reviewBody({ ...requestFor(object, "CREATE"), userInfo: USERS.admin }),
    follows: index === 0 ? "nothing" : "simultaneous",
  };
}

function rivalSelector(name: string, random: Random): Json {
  return withValue({ ...selector(random), metadata: { name } }, ["spec", "arn"], roleIn("111122223333", name));
}

function linkedIdentity(name: string, source: string): Json {
  const spec = {
    roleARN: roleIn("111122223333", name), externalID: "x-1", allowedNamespaces: {},
    sourceIdentityRef: { kind: "AWSClusterRoleIdentity", name: source },
  };
  const kind = "AWSClusterRoleIdentity";
  return { apiVersion: "infrastructure.cluster.x-k8s.io/v1beta2", kind, metadata: { name }, spec };
}
