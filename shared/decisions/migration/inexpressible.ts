import { TEAM_ANNOTATION } from "../annotation-keys.ts";
import { IGNORED_NAMESPACES } from "../carm/annotations.ts";
import type { JsonObject } from "../kubernetes/json.ts";
import { objectMeta } from "../kubernetes/object-meta.ts";
import { compareText, listOf, quote } from "../kubernetes/text.ts";
import type { CARMKey, MigrationInput } from "./carm-keys.ts";
import { type Inexpressible, mapsLeftOut } from "./maps-left-out.ts";
import type { WholeProof } from "./proof.ts";

/** What a migration is left with. */
export interface Outcome {
  readonly keys: readonly CARMKey[];
  readonly selectors: readonly JsonObject[];
  readonly proof: WholeProof;
  /** The selectors that were there before, by name. */
  readonly stored: readonly string[];
}

/** All of it, in a fixed order. */
export function inexpressibleOf(input: MigrationInput, outcome: Outcome): readonly Inexpressible[] {
  return [
    ...foundByStatus(outcome), ...mapsLeftOut(input, outcome.keys), ...laterGroups(outcome), ...laterNamespaces(outcome), ...ignoredNamespaces(input),
    ...teamsNotRead(input), ...oneWatched(input), ...otherSelectors(outcome), ...unknownNamespaces(input), ...unlistedKinds(input),
  ];
}

function foundByStatus({ proof }: Outcome): Inexpressible[] {
  return proof.differences.filter(({ groups }) => groups.length === 0).map(({ namespace, resources, fix }) => ({
    subject: listOf(resources.map(({ kind, name }) => `${kind} ${quote(`${namespace}/${name}`)}`)),
    reason: "CARM finds the account in status.ackResourceMetadata.ownerAccountID, and no selector reads the status",
    fix,
  }));
}

function laterGroups({ proof: { unknownGroups } }: Outcome): Inexpressible[] {
  if (unknownGroups.length === 0) return [];
  return [{
    subject: `ACK groups that are neither installed nor known to this release, in ${namespaces(unknownGroups)}`,
    reason: "beside a key of one service every other group has to be listed, since selectors have no \"all but\"; one that is not listed would get the controller's own role",
    fix: "before a controller of such a group is installed, name the group with --extra-groups, run this again and apply what it prints",
  }];
}

function laterNamespaces({ keys }: Outcome): Inexpressible[] {
  if (keys.length === 0) return [];
  return [{
    subject: "namespaces that are created later with an owner or a team annotation",
    reason: "selectors name the namespaces that there are, so a new one gets the controller's own role, whatever its annotations say",
    fix: "add its name to the selector of its role before anything is created in it, or replace the names by namespaceSelector.labelSelector on a label that only administrators set",
  }];
}

/** What CARM reads of these is nothing, but the region and the endpoint are read again once selectors decide. */
function ignoredNamespaces({ inventory }: MigrationInput): Inexpressible[] {
  return [...IGNORED_NAMESPACES].flatMap((namespace) => {
    const found = [...inventory.namespaceAnnotations(namespace).keys()].filter((key) => READ_BY_CARM.has(key)).toSorted(compareText);
    if (found.length === 0) return [];
    return [{
      subject: `${found.join(", ")} on namespace ${quote(namespace)}`,
      reason: "CARM ignores the annotations of this namespace, so no selector is made for it; once selectors decide, controllers do read its default-region and endpoint-url",
      fix: "remove the annotations, or write a selector where its resources are to have a role",
    }];
  });
}

// Source: aws-controllers-k8s/runtime apis/core/v1alpha1/annotations.go.
const READ_BY_CARM: ReadonlySet<string> = new Set(["owner-account-id", "team-id", "owner-team-id", "default-region", "endpoint-url"].map((name) => `services.k8s.aws/${name}`));

/** A gate that is said wrong makes selectors that are wrong, so what it leaves out is said. */
function teamsNotRead({ inventory, settings: { teamLevelCARM } }: MigrationInput): Inexpressible[] {
  if (teamLevelCARM) return [];
  const carrying = [...inventory.namespaceNames].filter((name) => (inventory.namespaceAnnotations(name).get(TEAM_ANNOTATION) ?? "") !== "");
  if (carrying.length === 0) return [];
  return [{
    subject: `${TEAM_ANNOTATION} on ${namespaces(carrying.toSorted(compareText))}`,
    reason: "without the feature gate TeamLevelCARM controllers do not read it",
    fix: "where the controllers run with that gate, give --team-level-carm and run this again",
  }];
}

/** The maps decide nothing in a controller that watches one namespace (aws-controllers-k8s/runtime pkg/runtime/service_controller.go). */
function oneWatched({ settings: { watchNamespaces } }: MigrationInput): Inexpressible[] {
  if (watchNamespaces.length !== 1) return [];
  return [{
    subject: `controllers that watch ${namespaces(watchNamespaces)} alone`,
    reason: "they do not start CARM, so before the switch they use their own role, whatever the maps say; the proof takes the maps to be read",
    fix: "leave out the selectors of that namespace where its resources are to stay as they are",
  }];
}

function otherSelectors({ stored, selectors }: Outcome): Inexpressible[] {
  const generated = new Set(selectors.map((selector) => objectMeta(selector).name));
  const others = stored.filter((name) => !generated.has(name)).toSorted(compareText);
  if (others.length === 0) return [];
  return [{
    subject: `IAMRoleSelector ${listOf(others)}`,
    reason: "already there, and no part of the proof: with CARM off it takes part too, and conflicts wherever it selects what a generated one selects",
    fix: "delete it, or check both together with `ack-role-resolver impact`",
  }];
}

function unknownNamespaces({ inventory }: MigrationInput): Inexpressible[] {
  if (!inventory.knows("namespaces")) {
    return [{ subject: "every namespace", reason: "the input holds no Namespace, and CARM decides by their annotations, so nothing is known of them", fix: "add the Namespace objects to the input and run this again" }];
  }
  const unknown = new Set([...inventory.resources.all()].map(({ namespace }) => namespace).filter((namespace) => !inventory.hasNamespace(namespace)));
  if (unknown.size === 0) return [];
  return [{
    subject: `the resources in ${namespaces([...unknown].toSorted(compareText))}`,
    reason: "the input does not hold the Namespace, so they were taken as if it had no annotations",
    fix: "add the Namespace objects to the input and run this again",
  }];
}

function unlistedKinds({ inventory }: MigrationInput): Inexpressible[] {
  const unlisted = [...inventory.unlisted("resources")].toSorted(compareText);
  if (unlisted.length === 0) return [];
  return [{ subject: listOf(unlisted), reason: "the resources of these kinds could not be listed, so the proof does not cover those that are found by their status", fix: "allow the kinds to be listed and run this again" }];
}

function namespaces(names: readonly string[]): string {
  return `${names.length === 1 ? "namespace" : "namespaces"} ${listOf(names.map(quote))}`;
}
