import { countOf } from "../../decisions/kubernetes/text.ts";

const CONNECTION_FAULT = /^(?<before>cannot list or watch )(?<kind>\S+)(?<reason>: .+)$/s;
/**
 * Match faults of the connection or the credentials, which usually affect every kind. The groups capture the text
 * before the kind, the kind, and the reason. The texts are created in errors.ts.
 */
const SHARED_FAULTS = [
  CONNECTION_FAULT,
  /^(?<before>the API server rejected the credentials \(401 on \w+ )(?<kind>[^\s)]+)(?<reason>\).+)$/s,
];

/** The maximum number of faults that the joined text lists. */
const MAX_FAULTS = 10;

/**
 * Joins the faults of all kinds to one text. If several kinds have the same fault, for example because the API server
 * is unreachable, the text contains the fault once, with the number of these kinds.
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

/** Replaces the kind by `subject` in a fault that matches SHARED_FAULTS. Returns any other fault unchanged. */
function withSubject(fault: string, subject: string): string {
  for (const pattern of SHARED_FAULTS) {
    const { before, reason } = pattern.exec(fault)?.groups ?? {};
    if (before !== undefined && reason !== undefined) return before + subject + reason;
  }
  return fault;
}
