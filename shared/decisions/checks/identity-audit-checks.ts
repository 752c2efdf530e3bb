import { unusableReason } from "../identities/allowed-namespaces.ts";
import { describeIdentity } from "../identities/denials.ts";
import type { AuditedIdentity } from "./access-key-age.ts";
import type { CheckEntry, Fault } from "./check.ts";
import { missingSource } from "./identities/source.ts";

/** A check of a CAPA identity that only `audit` runs. */
interface IdentityAuditCheck extends CheckEntry {
  readonly section: "unusableIdentities" | "openIdentities" | "missingSources";
  readonly supersedes: readonly string[];
  readonly findInIdentity: (subject: AuditedIdentity) => Iterable<Fault>;
}

const ALLOWED_NAMESPACES = ["spec", "allowedNamespaces"] as const;

export const AUD_12: IdentityAuditCheck = {
  id: "AUD-12",
  severity: "warn",
  waivable: false,
  section: "unusableIdentities",
  supersedes: ["CI-03"],
  reason: "CAPA uses an identity only for a namespace that its allowedNamespaces contains.",
  fix: "add the namespaces of its clusters to allowedNamespaces.list, or delete the identity",
  example: "# An AWSClusterRoleIdentity with allowedNamespaces: {list: []}.",
  *findInIdentity({ identity }) {
    const reason = "allowedNamespaces" in identity ? unusableReason(identity.allowedNamespaces) : null;
    if (reason !== null) yield { path: ALLOWED_NAMESPACES, message: `no namespace may use the identity: ${reason}` };
  },
};

export const AUD_13: IdentityAuditCheck = {
  id: "AUD-13",
  severity: "warn",
  waivable: false,
  section: "openIdentities",
  supersedes: ["CI-04"],
  reason: "Every user who may create a cluster in any namespace may use the account of the identity.",
  fix: "list the namespaces that may use the identity: allowedNamespaces: {list: [NAMESPACE]}",
  example: "# An AWSClusterRoleIdentity with allowedNamespaces: {}.",
  *findInIdentity({ identity }) {
    if (!("allowedNamespaces" in identity) || identity.allowedNamespaces.type !== "all") return;
    yield { path: ALLOWED_NAMESPACES, message: "every namespace may use the identity" };
  },
};

export const AUD_14: IdentityAuditCheck = {
  id: "AUD-14",
  severity: "deny",
  waivable: false,
  section: "missingSources",
  supersedes: ["CI-26"],
  reason: "CAPA cannot assume a role whose source does not exist. It neither reconciles nor deletes the clusters of "
    + "the identity.",
  fix: "create the source, or correct the reference",
  example: "# An AWSClusterRoleIdentity whose source has been deleted.",
  requires: ["identities", "--complete or --cluster"],
  *findInIdentity({ identity, inventory }) {
    const source = missingSource(identity, inventory);
    if (source === null) return;
    yield { path: ["spec", "sourceIdentityRef"], message: `${describeIdentity(source)} does not exist` };
  },
};
