import type { RoleTarget } from "../../shared/core/role-target.ts";
import type { Resolution } from "../../shared/core/resolution.ts";
import { ROLE_IDENTITY } from "../../shared/core/capa-kinds.ts";
import type { DecisionSettings } from "../../shared/core/context.ts";
import type { Inventory } from "../../shared/core/inventory.ts";
import { callProblems } from "../../shared/trust/call-problems.ts";
import type { TrustReview } from "../../shared/trust/trust-review.ts";
import type { TrustRow } from "../../shared/trust/trust-rows.ts";
import { managesGroup } from "../../shared/trust/trust-target.ts";
import type { Assumable, InventoryChange, NewRoles as JudgedRoles } from "../feature.ts";
import type { IO } from "../io.ts";
import { trustRowJSON, trustRowLines } from "./trust-table.ts";

const NO_CALLER: Assumable = {
  verdict: "unknown", reasons: ["no known caller assumes the role; pass --caller, and its program with --via"],
};

/** Whether callers can assume the roles that a change sets. */
export class NewRoles implements JudgedRoles {
  /** The answers for objects whose role or session settings change, and for those whose role resources get. */
  readonly rows: readonly TrustRow[];
  readonly #rows: ReadonlyMap<string, readonly TrustRow[]>;

  constructor({ before, after, impacts }: InventoryChange, review: TrustReview, settings: DecisionSettings) {
    const targetsOf = (inventory: Inventory): readonly RoleTarget[] => (
      inventory.roleTargets(settings).targets
    );
    const known = new Set(targetsOf(before).map(callOf));
    const used = new Set(impacts.map(({ after: resolution }) => keyOfResolution(resolution)));
    const targets = targetsOf(after).filter((one) => !known.has(callOf(one)) || used.has(keyOf(one)));
    const answers = targets.map((target) => [keyOf(target), review.rowsOf(target)] as const);
    this.rows = answers.flatMap(([, rows]) => rows);
    this.#rows = new Map(answers);
  }

  get verdicts(): JudgedRoles["verdicts"] {
    return new Set(this.rows.map(({ decision }) => decision.verdict));
  }

  of({ resource: { group }, after }: Parameters<JudgedRoles["of"]>[0]): Assumable | null {
    const key = keyOfResolution(after);
    if (after === null || key === null) return null;
    const isOfIdentity = after.via === "identity";
    const rows = this.#rows.get(key)?.filter(({ caller }) => isOfIdentity || managesGroup(caller, group)) ?? [];
    return rows.length === 0 ? NO_CALLER : assumableBy(rows);
  }

  answers(): readonly object[] {
    return this.rows.map(trustRowJSON);
  }

  lines(io: IO): readonly string[] {
    return this.rows.length === 0 ? [] : trustRowLines(this.rows, io);
  }
}

function assumableBy(rows: readonly TrustRow[]): Assumable {
  const verdicts = new Set(rows.map(({ decision }) => decision.verdict));
  const verdict = verdicts.has("no") ? "no" : verdicts.has("unknown") ? "unknown" : "yes";
  return { verdict, reasons: callProblems(rows).map(({ code, message }) => `${code} ${message}`) };
}

/** Two maps can have one role, which every caller assumes in the same way. */
function keyOf({ kind, name, roleARN }: RoleTarget): string {
  return `${kind} ${kind === "map" ? roleARN : name}`;
}

/** Returns the key of the object that names the role of a resource; null without one. */
function keyOfResolution(resolution: Resolution | null): string | null {
  if (resolution?.outcome !== "selected" || resolution.roleARN === null) return null;
  const identity = resolution.chain?.[0];
  if (identity !== undefined) return identity.kind === ROLE_IDENTITY ? `identity ${identity.name}` : null;
  const [key = `map ${resolution.roleARN}`] = resolution.selectors.map(({ name }) => `selector ${name}`);
  return key;
}

/** Returns everything of a target that a call depends on, as a text. */
function callOf(target: RoleTarget): string {
  return JSON.stringify({ ...target, types: null });
}
