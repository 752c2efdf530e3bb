import { countOf } from "../../decisions/kubernetes/text.ts";

const CONNECTION_FAULT = /^(?<before>cannot list or watch )(?<kind>\S+)(?<reason>: .+)$/s;
/**
 * Matches faults of the connection or the credentials, which usually affect every kind: the text before the kind, the
 * kind, and the reason. errors.ts creates these texts.
 */
const SHARED_FAULTS = [
  CONNECTION_FAULT,
  /^(?<before>the API server rejected the credentials \(401 on \w+ )(?<kind>[^\s)]+)(?<reason>\).+)$/s,
];

/** The maximum number of faults that the joined text lists. */
const MAX_FAULTS = 10;

/**
 * Joins the faults of all kinds. Reports a fault that several kinds share once, with the number of the kinds: if the
 * API server is unreachable, every kind has the same fault.
 */
export function joinFaults(faults: readonly string[]): string {
  const groups = Map.groupBy(faults, (fault) => withSubject(fault, ""));
  const texts = [...groups.values()].map((group) => {
    const [first = ""] = group;
    if (group.length === 1) return first;
    const fix = CONNECTION_FAULT.test(first) ? "; check that the API server is running and reachable" : "";
    return withSubject(first, countOf(group.length, "kind")) + fix;
  });
  const more = texts.length - MAX_FAULTS;
  return more > 0 ? `${texts.slice(0, MAX_FAULTS).join("; ")}; and ${more} more` : texts.join("; ");
}

/** Returns the fault with `subject` in place of the kind. Returns any other fault unchanged. */
function withSubject(fault: string, subject: string): string {
  for (const pattern of SHARED_FAULTS) {
    const { before, reason } = pattern.exec(fault)?.groups ?? {};
    if (before !== undefined && reason !== undefined) return before + subject + reason;
  }
  return fault;
}
