import { identityChain } from "../../identities/chain.ts";
import { describeIdentity } from "../../identities/denials.ts";
import type { Identity, IdentityReference, RoleIdentity } from "../../identities/identity.ts";
import { narrowerSource } from "../../identities/narrower-source.ts";
import {
  CONTROLLER_IDENTITY, CONTROLLER_IDENTITY_NAME, identityKindOf, ROLE_IDENTITY, SERVICE_ACCOUNT_IDENTITY,
} from "../../identities/kinds.ts";
import type { Inventory } from "../../inventory/inventory.ts";
import { compareText, countOf, listOf, printable, quote } from "../../kubernetes/text.ts";
import type { Paced } from "../../paced.ts";
import type { Fault, QuickCheck, ScanningCheck } from "../check.ts";
import { SCAN_LIMIT } from "../message-lists.ts";
import type { IdentityChange } from "./change.ts";

const PATH = ["spec", "sourceIdentityRef"] as const;

function sourceOf({ identity }: IdentityChange): IdentityReference | null {
  return identity.kind === ROLE_IDENTITY ? identity.source : null;
}

export const CI_25: QuickCheck<IdentityChange> = {
  id: "CI-25",
  severity: "deny",
  waivable: false,
  reason: "A cycle of sources stops the process of shipped CAPA. CAPA rejects a role identity without a source.",
  fix: "set sourceIdentityRef to an AWSClusterControllerIdentity, AWSClusterStaticIdentity or AWSClusterRoleIdentity",
  example: "kind: AWSClusterRoleIdentity\nmetadata: {name: a}\n"
    + "spec: {sourceIdentityRef: {kind: AWSClusterRoleIdentity, name: a}}",
  *find(change): Iterable<Fault> {
    const { identity } = change;
    if (identity.kind !== ROLE_IDENTITY) return;
    const kind = identity.source === null ? null : identityKindOf(identity.source.kind);
    if (identity.source === null) yield { path: PATH, message: "the source is missing" };
    else if (kind === null || kind === SERVICE_ACCOUNT_IDENTITY) {
      yield { path: [...PATH, "kind"], message: `${quote(identity.source.kind)} is not a kind of source` };
    } else if (kind === CONTROLLER_IDENTITY && identity.source.name !== CONTROLLER_IDENTITY_NAME) {
      const message = `CAPA uses only the ${CONTROLLER_IDENTITY} named ${CONTROLLER_IDENTITY_NAME}`;
      yield { path: [...PATH, "name"], message, fix: `set the name to ${CONTROLLER_IDENTITY_NAME}` };
    } else yield* chainFaults(identity, change);
  },
};

/** Yields a fault if the chain of the identity has a cycle or too many roles. */
function* chainFaults(identity: RoleIdentity, { inventory, pending }: IdentityChange): Iterable<Fault> {
  const { links, broken } = identityChain(inventory, identity, "", { changed: identity, pending: pending.writes });
  const fix = "set sourceIdentityRef to another identity, so that at most 8 roles form a chain";
  if (broken?.code === "ERR_IDENTITY_DEPTH") yield { path: PATH, message: broken.reason, fix };
  if (broken?.code !== "ERR_IDENTITY_CYCLE") return;
  yield { path: PATH, message: `the sources form a cycle: ${links.map(({ name }) => quote(name)).join(" -> ")}`, fix };
}

export const CI_26: QuickCheck<IdentityChange> = {
  id: "CI-26",
  severity: "warn",
  waivable: false,
  reason: "CAPA cannot assume a role whose source does not exist.",
  fix: "create the source, or correct the reference",
  example: "spec: {sourceIdentityRef: {kind: AWSClusterStaticIdentity, name: no-such-identity}}",
  requires: ["identities", "--complete or --cluster"],
  section: "missingSources",
  inAudit: { severity: "deny" },
  *find({ identity, inventory }): Iterable<Fault> {
    const source = missingSource(identity, inventory);
    if (source !== null) yield { path: PATH, message: `${describeIdentity(source)} does not exist` };
  },
};

/** Returns the source of the identity if it does not exist, or null. CI-25 reports a source that cannot exist. */
function missingSource(identity: Identity, { identities }: Inventory): IdentityReference | null {
  const source = identity.kind === ROLE_IDENTITY ? identity.source : null;
  if (source === null || identityKindOf(source.kind) === null || source.kind === SERVICE_ACCOUNT_IDENTITY) return null;
  if (source.kind === CONTROLLER_IDENTITY && source.name !== CONTROLLER_IDENTITY_NAME) return null;
  const isItself = source.kind === identity.kind && source.name === identity.name;
  return isItself || identities.get(source, "") !== null ? null : source;
}

export const CI_27: ScanningCheck<IdentityChange> = {
  id: "CI-27",
  severity: "deny",
  waivable: false,
  reason: "CAPA assumes a role only for a namespace that each identity of the chain allows. The check only warns if "
    + "the source allows some of the namespaces, or may allow a namespace whose labels are unknown.",
  fix: "allow the same namespaces in the source",
  example: "spec: {allowedNamespaces: {list: [team-a]}, sourceIdentityRef: {kind: AWSClusterStaticIdentity, name: s}}\n"
    + "# the source s has allowedNamespaces: {list: [team-b]}",
  requires: ["identities"],
  *scan(change): Paced<readonly Fault[]> {
    const { identity, inventory } = change;
    const reference = sourceOf(change);
    const source = reference === null ? null : inventory.identities.get(reference, "");
    if (source === null || !("allowedNamespaces" in source) || !("allowedNamespaces" in identity)) return [];
    const isItself = source.kind === identity.kind && source.name === identity.name;
    const [own, other] = [identity.allowedNamespaces, source.allowedNamespaces];
    const { namespaces, isDisjoint } = yield* narrowerSource(inventory, own, isItself ? own : other, SCAN_LIMIT);
    const path = ["spec", "allowedNamespaces"];
    if (isDisjoint) {
      const message = `no namespace may use the identity: its source ${describeIdentity(source)} allows none of the `
        + "namespaces that the identity allows";
      return [{ path, message }];
    }
    if (namespaces.length === 0) return [];
    const list = listOf(namespaces.toSorted(compareText), namespaces.length, SCAN_LIMIT);
    const count = countOf(namespaces.length, "namespace", SCAN_LIMIT);
    const message = printable(`the source ${describeIdentity(source)} does not allow ${count}: ${list}`);
    return [{ path, message, severity: "warn" }];
  },
};

export const CI_28: QuickCheck<IdentityChange> = {
  id: "CI-28",
  severity: "warn",
  waivable: false,
  reason: "Shipped CAPA reads the credentials of a source once. When the session of the source expires, CAPA can no "
    + "longer renew the session of the role, and reports no error.",
  fix: "set durationSeconds: 3600 on the source, and use few clusters for each chain, or restart CAPA when calls fail",
  example: "spec: {sourceIdentityRef: {kind: AWSClusterRoleIdentity, name: base}}",
  *find(change): Iterable<Fault> {
    if (sourceOf(change)?.kind !== ROLE_IDENTITY || change.settings.runtime === "extended") return;
    yield { path: PATH, message: "the source is a role, whose session shipped CAPA does not renew" };
  },
};
