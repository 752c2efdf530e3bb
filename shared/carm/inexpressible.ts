import { NAMESPACES } from "../core/namespaces.ts";
import { RESOURCES } from "../ack/resources.ts";
import { IGNORED_NAMESPACES, TEAM_ANNOTATION } from "../core/annotation-keys.ts";
import type { JsonObject } from "../formats/json.ts";
import { objectReference } from "../formats/object-meta.ts";
import { compareText, listOf, quote } from "../formats/text.ts";
import type { CARMKey, MigrationInput } from "./migration-keys.ts";
import type { FullProof } from "./migration-proof.ts";

/** A use of CARM that the selectors cannot express, or that the proof does not cover. */
export interface Inexpressible {
  readonly subject: string;
  /** The explanation, without a full stop at its end. */
  readonly reason: string;
  readonly fix: string;
}

interface MigrationResult {
  readonly keys: readonly CARMKey[];
  readonly selectors: readonly JsonObject[];
  readonly proof: FullProof;
  /** The names of the selectors that existed before the migration. */
  readonly stored: readonly string[];
  readonly unusedEntries: readonly Inexpressible[];
}

/** Returns every use of CARM that the selectors cannot express or the proof does not cover, in a fixed order. */
export function inexpressibleOf(input: MigrationInput, result: MigrationResult): readonly Inexpressible[] {
  return [
    ...foundByStatus(result),
    ...result.unusedEntries,
    ...laterGroups(result),
    ...laterNamespaces(result),
    ...ignoredNamespaces(input),
    ...ignoredTeams(input),
    ...otherSelectors(result),
    ...unknownNamespaces(input),
    ...unlistedKinds(input),
  ];
}

function foundByStatus({ proof }: MigrationResult): Inexpressible[] {
  return proof.differences.filter(({ groups }) => groups.length === 0).map(({ namespace, resources, fix }) => ({
    subject: listOf(resources.map(({ kind, name }) => `${kind} ${quote(`${namespace}/${name}`)}`)),
    reason: "CARM reads the account from status.ackResourceMetadata.ownerAccountID, "
      + "but selectors do not read the status",
    fix,
  }));
}

function laterGroups({ proof: { unknownGroups } }: MigrationResult): Inexpressible[] {
  if (unknownGroups.length === 0) return [];
  return [{
    subject: "ACK groups that are not installed and that this release does not know, in "
      + describeNamespaces(unknownGroups),
    reason: "the map has a key that applies to only one service, so each generated selector names its API groups; "
      + "resources of any other API group would use the controller's own role",
    fix: "before you install a controller of such a group, set --extra-groups, run the command again "
      + "and apply the output",
  }];
}

function laterNamespaces({ keys }: MigrationResult): Inexpressible[] {
  if (keys.length === 0) return [];
  return [{
    subject: "namespaces that are created later with an owner or a team annotation",
    reason: "the selectors list the existing namespaces; resources in a new namespace use the controller's own role, "
      + "even if the namespace has such an annotation",
    fix: "add a new namespace to the selector of its role before you create resources in it, or replace the names by "
      + "namespaceSelector.labelSelector with a label that only administrators can set",
  }];
}

/**
 * Reports annotations in the namespaces that CARM ignores. With selectors, controllers read the default region and the
 * endpoint URL from these annotations.
 */
function ignoredNamespaces({ inventory }: MigrationInput): Inexpressible[] {
  return [...IGNORED_NAMESPACES].flatMap((namespace) => {
    const found = [...inventory.namespaces.annotationsOf(namespace).keys()].filter((key) => CARM_ANNOTATIONS.has(key));
    if (found.length === 0) return [];
    return [{
      subject: `${found.toSorted(compareText).join(", ")} on namespace ${quote(namespace)}`,
      reason: "CARM ignores the annotations of this namespace, so no selector is generated for the namespace; "
        + "with selectors, controllers read the annotations default-region and endpoint-url of the namespace",
      fix: "remove the annotations, or create a selector if resources in the namespace need a role",
    }];
  });
}

// Source: aws-controllers-k8s/runtime apis/core/v1alpha1/annotations.go.
const CARM_ANNOTATIONS: ReadonlySet<string> = new Set(
  ["owner-account-id", "team-id", "owner-team-id", "default-region", "endpoint-url"]
    .map((name) => `services.k8s.aws/${name}`),
);

function ignoredTeams({ inventory, settings: { teamLevelCARM } }: MigrationInput): Inexpressible[] {
  if (teamLevelCARM) return [];
  const teamOf = (name: string): string => inventory.namespaces.annotationsOf(name).get(TEAM_ANNOTATION) ?? "";
  const annotated = [...inventory.namespaces.names].filter((name) => teamOf(name) !== "");
  if (annotated.length === 0) return [];
  return [{
    subject: `${TEAM_ANNOTATION} on ${describeNamespaces(annotated.toSorted(compareText))}`,
    reason: "controllers without the feature gate TeamLevelCARM do not read the annotation",
    fix: "if the controllers run with that gate, set --team-level-carm and run the command again",
  }];
}

function otherSelectors({ stored, selectors }: MigrationResult): Inexpressible[] {
  const generated = new Set(selectors.map((selector) => objectReference(selector).name));
  const others = stored.filter((name) => !generated.has(name)).toSorted(compareText);
  if (others.length === 0) return [];
  return [{
    subject: `IAMRoleSelector ${listOf(others)}`,
    reason: "the selector existed before the migration, and the proof ignores it; when CARM is off, it conflicts with "
      + "each generated selector for the same resources",
    fix: "delete the selector, or compare it with the generated selectors: ack-role-resolver impact",
  }];
}

function unknownNamespaces({ inventory }: MigrationInput): Inexpressible[] {
  const fix = "add the Namespace objects to the input and run the command again";
  if (!inventory.includes(NAMESPACES)) {
    const reason = "the input has no Namespace objects, and CARM reads the role from namespace annotations";
    return [{ subject: "every namespace", reason, fix }];
  }
  const namespaces = new Set(Array.from(inventory.of(RESOURCES).all(), ({ namespace }) => namespace));
  const unknown = [...namespaces].filter((namespace) => !inventory.namespaces.has(namespace));
  if (unknown.length === 0) return [];
  return [{
    subject: `the resources in ${describeNamespaces(unknown.toSorted(compareText))}`,
    reason: "the input lacks the Namespace object, so the proof assumes that the namespace has no annotations",
    fix,
  }];
}

function unlistedKinds({ inventory }: MigrationInput): Inexpressible[] {
  const unlisted = [...inventory.unlisted(RESOURCES)].toSorted(compareText);
  if (unlisted.length === 0) return [];
  return [{
    subject: listOf(unlisted),
    reason: "the resources of these kinds could not be listed; "
      + "the proof does not cover resources whose account is only in their status",
    fix: "grant the verb list on these kinds and run the command again",
  }];
}

function describeNamespaces(names: readonly string[]): string {
  return `${names.length === 1 ? "namespace" : "namespaces"} ${listOf(names.map(quote))}`;
}
