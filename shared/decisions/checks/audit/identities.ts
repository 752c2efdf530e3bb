import { unusableReason } from "../../identities/allowed-namespaces.ts";
import { describeIdentity } from "../../identities/denials.ts";
import type { Fault } from "../check.ts";
import { secretOf } from "../identities/secret.ts";
import { missingSource } from "../identities/source.ts";
import type { AuditCheck } from "./audit-check.ts";

const DAY_MS = 86_400_000;
/** https://docs.aws.amazon.com/config/latest/developerguide/access-keys-rotated.html */
const MAX_DAYS = 90;

export const AUD_11: AuditCheck = {
  id: "AUD-11",
  severity: "warn",
  waivable: false,
  section: "checks",
  supersedes: [],
  reason: `AWS recommends to rotate access keys after ${MAX_DAYS} days. The age of a key is the time since `
    + "SecretAccessKey was written to the Secret, or since the Secret was created if this time is unknown.",
  fix: "create another access key in IAM, write it to the Secret, and then delete the old access key",
  example: "# An AWSClusterStaticIdentity whose Secret was written 91 days ago.",
  requires: ["--identity-secret-namespace", "secrets"],
  *findInIdentity(subject): Iterable<Fault> {
    const secret = secretOf(subject);
    const writtenMs = secret?.metadata?.writtenMs ?? null;
    if (secret === null || writtenMs === null) return;
    const ageMs = subject.nowMs - writtenMs;
    if (ageMs <= MAX_DAYS * DAY_MS) return;
    const written = `it was written ${Math.floor(ageMs / DAY_MS)} days ago`;
    const message = `the access key in the Secret ${secret.fullName} is older than ${MAX_DAYS} days: ${written}`;
    yield { path: ["spec", "secretRef"], message };
  },
};

const ALLOWED_NAMESPACES = ["spec", "allowedNamespaces"] as const;

export const AUD_12: AuditCheck = {
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

export const AUD_13: AuditCheck = {
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

export const AUD_14: AuditCheck = {
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
