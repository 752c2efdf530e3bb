import type { DecisionSettings } from "../context.ts";
import type { Identity } from "../identities/identity.ts";
import type { Inventory } from "../inventory/inventory.ts";
import type { CheckEntry, Fault } from "./check.ts";
import { secretOf } from "./identities/secret.ts";

/** A stored CAPA identity. */
export interface AuditedIdentity {
  readonly identity: Identity;
  readonly inventory: Inventory;
  readonly settings: DecisionSettings;
  /** The time of the audit, in ms. */
  readonly nowMs: number;
}

/** A check of a CAPA identity that only `audit` runs. */
interface IdentityAuditCheck extends CheckEntry {
  readonly section: "checks";
  readonly supersedes: readonly string[];
  readonly findInIdentity: (subject: AuditedIdentity) => Iterable<Fault>;
}

const DAY_MS = 86_400_000;
/** https://docs.aws.amazon.com/config/latest/developerguide/access-keys-rotated.html */
const MAX_DAYS = 90;

export const AUD_11: IdentityAuditCheck = {
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
