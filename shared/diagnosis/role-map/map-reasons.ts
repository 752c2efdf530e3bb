import { describeIdentity } from "../../core/capa-kinds.ts";
import type { Resolution } from "../../core/resolution.ts";
import { EXTERNAL_ID_ANNOTATION } from "../../core/annotation-keys.ts";
import { LIMITS } from "../../core/limits.ts";
import type { Finding } from "../../core/check.ts";
import { accountOfARN } from "../../formats/arn.ts";
import { formatFieldPath } from "../../formats/json.ts";
import { MapTable, shownOrNull, shownSentence, shownText } from "./map-table.ts";
import type { MapFinding, MapRole, MapSelector, Reason, State } from "./role-map.ts";

/** What was decided about a resource. */
export interface Judgment {
  readonly resolution: Resolution;
  readonly findings: readonly Finding[];
  /** The names of the selectors for which the sidecar grants no role. */
  readonly faulty: Pick<ReadonlySet<string>, "has">;
}

/** Returns the state of a resource. */
export function stateOf({ resolution: { outcome, selectors }, findings, faulty }: Judgment): State {
  if (outcome === "conflict" || outcome === "refused") return outcome;
  const isFaulty = findings.some(({ severity, section, waived }) => (
    severity === "deny" && !waived && section !== "onDefault"
  ));
  if (isFaulty || selectors.some(({ name }) => faulty.has(name))) return "faulty";
  if (findings.some(({ section }) => section === "staleAnnotations")) return "stale";
  return outcome === "default" ? "default" : "resolved";
}

/** The lists of roles, findings and reasons, and the selectors to which the reasons refer. */
export class ReasonTables {
  readonly roles = new MapTable<MapRole>(LIMITS.mapReasons.value + LIMITS.mapSelectors.value);
  readonly findings = new MapTable<MapFinding>();
  readonly reasons = new MapTable<Reason>(LIMITS.mapReasons.value);
  readonly selectors = new MapTable<MapSelector>();
  /** The reasons that stand for those that exceed the limit. */
  readonly #others = new Map<string, number>();

  role(arn: string): number | null {
    return this.roles.add(arn, () => ({ arn: shownText(arn), account: accountIn(arn) }));
  }

  /** Returns the indexes of the findings. */
  indexesOf(findings: readonly Finding[]): number[] {
    return findings.map((finding) => {
      const shown = shownFinding(finding);
      return this.findings.addAlways(JSON.stringify(shown), () => shown);
    });
  }

  /** Returns the index of the reason, or of one without details if the list is full. */
  reason(judgment: Judgment): number {
    const { resolution, findings } = judgment;
    const state = stateOf(judgment);
    const { outcome, roleARN, selectors, chain = [], region, code, message } = resolution;
    const shown = findings.map(shownFinding);
    const names = selectors.map(({ name }) => name);
    const key = JSON.stringify([state, outcome, roleARN, names, chain.map(describeIdentity), region, message, shown]);
    const roleIndex = (): number | null => (roleARN === null ? null : this.role(roleARN));
    const index = this.reasons.add(key, () => ({
      state, outcome, code, role: roleIndex(),
      selectors: names.flatMap((name) => this.selectors.indexOf(name) ?? []),
      chain: chain.map((link) => shownText(describeIdentity(link))),
      region: region === null ? null : shownText(`${region.value} (set by the ${region.from})`),
      message: shownSentence(message),
      findings: this.indexesOf(findings),
    }));
    return index ?? this.#otherReason({ state, outcome, role: roleIndex() });
  }

  /** Returns the reason without its details; -1 for -1. */
  withoutDetails(index: number): number {
    const reason = this.reasons.items[index];
    return reason === undefined ? index : this.#otherReason(reason);
  }

  #otherReason({ state, outcome, role }: Pick<Reason, "state" | "outcome" | "role">): number {
    const key = `${state} ${outcome} ${role}`;
    const index = this.#others.get(key) ?? this.reasons.items.push({
      state, outcome, code: null, role, selectors: [], chain: [], region: null, message: OTHER_REASON, findings: [],
    }) - 1;
    this.#others.set(key, index);
    return index;
  }
}

const OTHER_REASON = "The map has no room for this reason. Run `ack-role-resolver resolve --explain` for it.";

/** An account is a part of a column, so an ARN of any other text has none. */
function accountIn(arn: string): string | null {
  return shownOrNull(accountOfARN(arn));
}

/** Returns the finding without values that can be confidential: a map is stored and shared. */
function shownFinding({ code, severity, path, message, fix }: Finding): MapFinding {
  const isConfidential = path.some((step) => typeof step === "object" && step.key === EXTERNAL_ID_ANNOTATION);
  return {
    code, severity, path: formatFieldPath(path), fix: shownSentence(fix),
    message: isConfidential ? "the external ID is not valid" : shownSentence(message),
  };
}
