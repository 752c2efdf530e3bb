/** A check that was removed. For one release, `--check` and waivers still accept its code, with a warning. */
export interface RemovedCode {
  readonly code: string;
  /** The check that reports the faults now; null if no check does. */
  readonly successor: string | null;
  /** Why the check was removed: a clause without a full stop. */
  readonly reason: string;
  /** Whether the successor denies. A severity of the removed check then never weakens the successor. */
  readonly denies?: true;
  /** Whether the removed check could be waived. Its waivers then apply to the successor. */
  readonly waivable?: true;
}

/** Every removed check. CHANGELOG.md lists the same codes. */
export const REMOVED_CODES: readonly RemovedCode[] = [
  { code: "IRS-06", successor: "IRS-03", denies: true, reason: "both judge the ARN of the role" },
  { code: "IRS-14", successor: null, reason: "a type entry that a broader entry covers changes no role" },
  { code: "IRS-15b", successor: "IRS-15", denies: true, reason: "both judge what the selector does not restrict" },
  { code: "IRS-21", successor: null, reason: "a role in the same account is intended, and `impact` lists it" },
  { code: "IRS-23", successor: null, reason: "selectors may share a role; IRS-40 denies differing sessions" },
  { code: "IRS-32", successor: null, reason: "the end of a conflict is intended, and `impact` lists it" },
  { code: "IRS-33", successor: null, reason: "it reported that a deletion is safe" },
  { code: "IRS-41", successor: "IRS-45", denies: true, reason: "both judge the session tags" },
  { code: "IRS-46b", successor: "IRS-46", denies: true, reason: "both judge the session duration" },
  { code: "IRS-49", successor: null, reason: "IRS-30 denies the deletion by the garbage collector" },
  { code: "IRS-50", successor: "IRS-00", denies: true, reason: "both compare a selector with a schema" },
  { code: "ACK-04", successor: "ACK-03", waivable: true, reason: "both report a resource without a role" },
  { code: "ACK-19", successor: null, reason: "a controller visibly does nothing where it does not watch" },
  { code: "ACK-19b", successor: null, reason: "a controller visibly does nothing where it does not watch" },
  { code: "ACK-14", successor: "ACK-15", reason: "both report annotations that controllers ignore" },
  { code: "ACK-16", successor: null, reason: "AWS reports a reference that it does not allow" },
  { code: "ACK-18", successor: "ACK-07", denies: true, reason: "both compare the account in the status with the role" },
  { code: "ACK-33", successor: null, reason: "`retain` is intended, and ACK-11 denies other policies" },
  { code: "NS-03b", successor: "NS-03", denies: true, reason: "both judge the key of the namespace in a CARM map" },
  {
    code: "NS-05b", successor: "NS-03", denies: true, waivable: true,
    reason: "both judge the key of the namespace in a CARM map",
  },
  { code: "NS-06", successor: "CM-09", reason: "both report CARM in mode `selectors`" },
  { code: "NS-08b", successor: "NS-08", denies: true, reason: "both judge the endpoint URL" },
  { code: "NS-09b", successor: "NS-09", denies: true, reason: "both judge the deletion policies of services" },
  { code: "NS-11", successor: "NS-10", reason: "both report annotations that controllers ignore on a namespace" },
  { code: "NS-13b", successor: "NS-13", reason: "both list what the deletion of a namespace deletes" },
  { code: "NS-15", successor: "ACK-36", reason: "both report that `use-selector` has no effect" },
  { code: "CM-02", successor: "CM-01", denies: true, reason: "both judge the role of a key" },
  { code: "CM-03", successor: "CM-01", denies: true, reason: "both judge the role of a key" },
  { code: "CM-05", successor: "CM-01", denies: true, reason: "both judge the role of a key" },
  { code: "CM-06", successor: "CM-04", reason: "both report entries that controllers do not read" },
  { code: "CM-07b", successor: "CM-07", reason: "both report maps of other namespaces" },
  { code: "CM-10", successor: null, reason: "controllers read every change of a map late, as intended" },
  {
    code: "CM-11", successor: "CM-08", denies: true, waivable: true, reason: "both judge entries that are still in use",
  },
  { code: "CM-13", successor: "CM-12", reason: "both report that a feature gate is off" },
  { code: "AUD-01", successor: "ACK-03", reason: "`audit` runs ACK-03 on stored resources, and denies a conflict" },
  { code: "AUD-02", successor: "ACK-03", reason: "`audit` runs ACK-03 on stored resources, and denies a missing role" },
  {
    code: "AUD-03", successor: "ACK-07", denies: true,
    reason: "`audit` runs ACK-07, ACK-08 and ACK-10b on stored resources",
  },
  {
    code: "AUD-04", successor: "IRS-04", denies: true,
    reason: "`audit` runs IRS-04 on stored selectors and resources",
  },
  { code: "AUD-05", successor: "ACK-05", reason: "`audit` runs ACK-05 on stored resources" },
  { code: "AUD-06", successor: "IRS-22", reason: "`audit` runs IRS-22 on stored selectors" },
  { code: "AUD-07", successor: "ACK-02", reason: "`audit` runs ACK-02 on stored objects" },
  {
    code: "AUD-11", successor: null,
    reason: "the age of an access key does not show whether a controller uses it wrongly",
  },
  { code: "AUD-12", successor: "CI-03", reason: "AC-02 reports each cluster that uses an identity without namespaces" },
  { code: "AUD-13", successor: "CI-04", reason: "`audit` runs CI-04 on stored identities" },
  {
    code: "AUD-14", successor: "CI-26",
    reason: "`audit` runs CI-26 on stored identities, and denies a missing source",
  },
  { code: "AC-09", successor: "ACK-02", reason: "both report annotations that only the webhook writes" },
  {
    code: "CI-05b", successor: "CI-05", denies: true,
    reason: "both report names of `allowedNamespaces` that no namespace has",
  },
  { code: "CI-10b", successor: "CI-10", denies: true, reason: "both report a Secret that CAPA cannot use" },
  {
    code: "CI-32", successor: "CI-31", denies: true, waivable: true,
    reason: "both deny the deletion of an identity that is in use",
  },
  { code: "CI-12", successor: null, reason: "an access key that never expires works as intended" },
];

const BY_CODE: ReadonlyMap<string, RemovedCode> = new Map(REMOVED_CODES.map((row) => [row.code, row]));

export function removedCode(code: string): RemovedCode | null {
  return BY_CODE.get(code) ?? null;
}

/** Returns the check to which `--check CODE=SEVERITY` applies now; null if the check was not removed, or has none. */
export function successorAt(code: string, severity: string): string | null {
  const removed = removedCode(code);
  return removed === null ? null : successorOf(removed, severity);
}

/** Returns the check to which this severity of the removed check applies now; null if there is none. */
export function successorOf({ denies, successor }: RemovedCode, severity: string): string | null {
  return denies === true && severity !== "deny" ? null : successor;
}

/** Returns the code of the check that a waiver of `code` waives now. */
export function currentWaiver(code: string): string {
  const removed = removedCode(code);
  return removed?.waivable === true && removed.successor !== null ? removed.successor : code;
}

/** Returns a warning for each value of `--check` that sets the severity of a removed check. */
export function removedCheckNotices(check: readonly string[]): string[] {
  return check.flatMap((value) => {
    const [id = "", severity = ""] = value.split("=", 2);
    const removed = removedCode(id);
    return removed === null ? [] : [`--check ${value} ${removedCheckNotice(removed, severity)}`];
  });
}

/** Returns what a severity of the removed check does now, as the rest of a sentence. */
export function removedCheckNotice(removed: RemovedCode, severity: string): string {
  const { code, reason, successor } = removed;
  if (successor === null) return `has no effect: ${code} was removed, because ${reason}`;
  const merge = `${code} is part of ${successor}`;
  if (successorOf(removed, severity) !== null) return `is now ${successor}=${severity}: ${merge}`;
  return `has no effect: ${merge}, which denies. Set ${successor}=${severity} if you mean that`;
}
