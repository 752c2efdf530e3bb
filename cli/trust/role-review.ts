import { printable } from "../../shared/formats/text.ts";
import { callProblems } from "../../shared/trust/call-problems.ts";
import { Intended } from "../../shared/trust/intended.ts";
import { ownRoleRow } from "../../shared/trust/own-role.ts";
import { TrustReview } from "../../shared/trust/trust-review.ts";
import { unassumedNotes } from "../../shared/trust/trust-target.ts";
import type { RoleReview, RoleReviewer } from "../feature.ts";
import { writeLines } from "../io.ts";
import { asking } from "./asking.ts";
import { readIAMFiles } from "./iam-files.ts";
import { NewRoles } from "./new-roles.ts";
import { trustCallers } from "./trust-callers.ts";

/** Asks who can assume the roles of each state. All callers are intended, because roots can share roles. */
export const reviewRoles: RoleReviewer["review"] = async (states, settings, io, nowMs) => {
  const found = states.map((state) => ({ state, ...trustCallers(settings, state.controllers) }));
  const notes = new Set(found.flatMap(({ state, callers, notes: ofCallers }) => {
    const { targets } = state.inventory.roleTargets(settings);
    return [...ofCallers, ...unassumedNotes(targets, callers.map(({ via }) => via))];
  }));
  writeLines(io.stderr, Array.from(notes, (note) => printable(`note: ${note}`)));
  const data = await readIAMFiles(settings.iam, settings.aws);
  const given = "intended" in settings ? settings.intended : [];
  const others = asking(() => new Intended(given), "--intended ");
  const nowSeconds = Math.floor(nowMs / 1000);
  return asking(() => {
    const owners = new Map(found.flatMap((one) => one.owners).map((owner) => [JSON.stringify(owner), owner]));
    const lost = [...owners.values()].map((owner) => ownRoleRow(owner, data, nowSeconds))
      .filter(({ decision }) => decision.verdict === "no");
    writeLines(io.stderr, lost.flatMap(({ problems, target, caller }) => problems.map(({ message }) => (
      printable(`note: ${caller.arn} cannot assume the controller's own role ${target.roleARN}: ${message}`)
    ))));
    const intended = others.with(found.flatMap(({ callers }) => callers.map(({ arn }) => arn)));
    return reviewOf(found.map(({ callers }) => new TrustReview({ callers, data, nowSeconds, intended })));
  });
};

function reviewOf(reviews: readonly TrustReview[]): RoleReview {
  const judged: NewRoles[] = [];
  return {
    evidence: reviews.map((trust) => ({ trust })),
    judgeChange(change, { trust = null }, settings) {
      if (trust === null) return null;
      const roles = new NewRoles(change, trust, settings);
      judged.push(roles);
      return roles;
    },
    openRoles() {
      const open = judged.flatMap(({ rows }) => rows).filter(({ decision }) => decision.verdict !== "yes");
      return Array.from(Map.groupBy(open, ({ target }) => target.roleARN), ([role, rows]) => (
        [role, ...callProblems(rows).map(({ code, message }) => `${code} ${message}`)]
      ));
    },
  };
}
