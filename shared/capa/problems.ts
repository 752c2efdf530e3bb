import { referrerKindOf } from "../core/capa-kinds.ts";
import type { Judge } from "../core/judge.ts";
import { resourceSubject } from "../core/event-subjects.ts";
import { noteOf, type Problem, type ProblemScope, type StoreProblems } from "../core/problem.ts";
import type { ErrorCode } from "../formats/errors.ts";
import { paced } from "../formats/paced.ts";
import { AC_01, AC_02, AC_03 } from "./cluster-identity.ts";
import { AC_00 } from "./cluster-reference.ts";
import { IDENTITIES, identitySubject } from "./identities.ts";
import { CI_10, secretFaults } from "./identity-change.ts";
import type { Identity } from "./identity.ts";
import { SECRETS } from "./secrets.ts";

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
export const clusterProblems: NonNullable<Judge["problems"]> = function* (
  { resource, resolution: { outcome, code, message } }, { settings: { checkSeverities } },
) {
  if (outcome === "selected" || referrerKindOf(resource)?.isTemplate === true) return;
  const isRefused = outcome === "refused";
  const check = isRefused ? (REFUSALS.get(code) ?? AC_02.id) : AC_03.id;
  if (checkSeverities.get(check) === "off") return;
  const subject = resourceSubject(resource);
  yield isRefused
    ? { subject, reason: "IdentityRefused", note: `CAPA cannot use the identity of this object. ${message}` }
    : { subject, reason: "DefaultIdentity", note: `${message} ${DEFAULT_FIX}` };
};

const BETWEEN_PAUSES = 200;

/** The static identities whose Secret CAPA cannot use. */
export const IDENTITY_PROBLEMS: StoreProblems = {
  revision: (inventory) => inventory.of(SECRETS).revision,
  * scan(scope, report) {
    yield* paced(scope.inventory.of(IDENTITIES).all(), BETWEEN_PAUSES, (identity) => {
      const problem = secretProblem(identity, scope);
      if (problem !== null) report(problem);
      return true;
    });
  },
};

/** Returns the problem of a static identity whose Secret CAPA cannot use, or null. */
function secretProblem(identity: Identity, { inventory, settings }: ProblemScope): Problem | null {
  if (!inventory.includes(SECRETS) || settings.checkSeverities.get(CI_10.id) === "off") return null;
  const faults = [...secretFaults(identity, { inventory, settings, origin: "cluster" })];
  const [first] = faults;
  if (first === undefined) return null;
  const message = `CAPA cannot use the Secret of this identity: ${faults.map((one) => one.message).join("; ")}`;
  const subject = identitySubject(identity, inventory);
  return { subject, reason: "UnusableSecret", note: noteOf(message, first.fix ?? CI_10.fix) };
}
