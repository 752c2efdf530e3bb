import { AC_01, AC_02, AC_03 } from "../checks/clusters/identity.ts";
import { AC_00 } from "../checks/clusters/reference.ts";
import type { DecisionSettings } from "../context.ts";
import type { ErrorCode } from "../errors.ts";
import { referrerKindOf } from "../identities/kinds.ts";
import type { Referrer } from "../identities/referrer.ts";
import type { Resolution } from "../resolution/resolve.ts";
import { type Problem, resourceSubject } from "./problem.ts";

/** The check that reports a refused identity with the code. AC-02 reports the other codes. */
const REFUSALS: ReadonlyMap<ErrorCode | null, string> = new Map([
  ["ERR_IDENTITY_KIND", AC_00.id], ["ERR_IDENTITY_UNKNOWN", AC_01.id],
]);

const DEFAULT_FIX = "Set identityRef to another identity, or set --check AC-03=off if clusters are meant to use the "
  + "credentials of CAPA.";

/**
 * Yields a problem if CAPA cannot use the identity to which the object refers, or if CAPA uses its own credentials.
 * Templates use no credentials. Omits the problem if `--check ID=off` disables the check that reports it at admission.
 */
export function* referrerProblems(
  referrer: Referrer, { outcome, code, message }: Resolution,
  { checkSeverities }: Pick<DecisionSettings, "checkSeverities">,
): Iterable<Problem> {
  if (outcome === "selected" || referrerKindOf(referrer)?.isTemplate === true) return;
  const isRefused = outcome === "refused";
  const check = isRefused ? (REFUSALS.get(code) ?? AC_02.id) : AC_03.id;
  if (checkSeverities.get(check) === "off") return;
  const subject = resourceSubject(referrer);
  yield isRefused
    ? { subject, reason: "IdentityRefused", note: `CAPA cannot use the identity of this object. ${message}` }
    : { subject, reason: "DefaultIdentity", note: `${message} ${DEFAULT_FIX}` };
}
