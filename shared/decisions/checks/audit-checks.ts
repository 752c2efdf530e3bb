import type { CheckEntry } from "./check.ts";

/** What `audit` finds of stored objects beside what the other checks say of each: it looks at what a resource resolves to. */
export const AUD_01: CheckEntry = {
  id: "AUD-01",
  severity: "deny",
  waivable: false,
  reason: "Controllers stop at a resource that more than one IAMRoleSelector selects, and set no condition on it.",
  fix: "narrow or delete all of them but one; `resolve --explain` says why each selects it",
  example: "# Two IAMRoleSelectors that select one Bucket.",
};

export const AUD_02: CheckEntry = {
  id: "AUD-02",
  severity: "deny",
  waivable: false,
  reason: "Controllers stop at a resource whose role the CARM maps do not tell.",
  fix: "add the key to the map, or correct the annotation of the namespace",
  example: "# A namespace annotated with an account that the map has no role for.",
};

export const AUD_03: CheckEntry = {
  id: "AUD-03",
  severity: "deny",
  waivable: false,
  reason: "Controllers stop for ever at a resource that exists in another account or region than it is to be managed in.",
  fix: "let a selector with a role in the account of the resource select it, or set the region back",
  example: "# A Bucket that was made in account 111122223333, selected by a role of 444455556666.",
};

export const AUD_04: CheckEntry = {
  id: "AUD-04",
  severity: "deny",
  waivable: false,
  reason: "A role or a resource is in an account that is not one of `--allowed-accounts`.",
  fix: "use a role of an allowed account, or allow the account",
  example: "# With --allowed-accounts 111122223333: an IAMRoleSelector with a role of 444455556666.",
  requires: ["--allowed-accounts"],
};

export const AUD_05: CheckEntry = {
  id: "AUD-05",
  severity: "warn",
  waivable: false,
  reason: "A resource that nothing selects is managed in the controller's own account, which is seldom meant.",
  fix: "select it, or put this check off with --check AUD-05=off where the controller's own role is meant",
  example: "# A Bucket in a namespace that no IAMRoleSelector selects.",
};

export const AUD_06: CheckEntry = {
  id: "AUD-06",
  severity: "warn",
  waivable: false,
  reason: "An IAMRoleSelector that selects no resource is often misspelt, and its role is granted for nothing.",
  fix: "correct what it selects, or delete it",
  example: "# An IAMRoleSelector for a namespace that has no ACK resource.",
  requires: ["resources"],
};

export const AUD_07: CheckEntry = {
  id: "AUD-07",
  severity: "warn",
  waivable: false,
  reason: "The annotations of a resource tell another resolution than the one that holds: it was last written before something changed, or while the webhook was down.",
  fix: "write the object once more, as with `kubectl annotate --overwrite`, so that the webhook annotates it anew",
  example: "# A Bucket annotated with a role that was rotated since.",
};

export const AUDIT_CHECKS: readonly CheckEntry[] = [AUD_01, AUD_02, AUD_03, AUD_04, AUD_05, AUD_06, AUD_07];
