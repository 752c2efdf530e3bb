import type { SettingsFor } from "../../shared/core/settings.ts";
import { printable } from "../../shared/formats/text.ts";
import type { TrustReview } from "../../shared/trust/trust-review.ts";
import { unassumedNotes } from "../../shared/trust/trust-target.ts";
import { type IO, writeLines } from "../io.ts";
import type { State } from "./state.ts";
import { trustCallers } from "./trust-callers.ts";

type ReviewSettings = Pick<SettingsFor<"lint">, "iam" | "aws" | "ackSystemNamespace">
  & Parameters<typeof trustCallers>[0] & Partial<Pick<SettingsFor<"lint">, "intended">>;

/** The state of a root, and who can assume its roles; null without exports of IAM. */
export type ReviewedState = State & { readonly trust: TrustReview | null };

/** Whether a command judges the roles of its input. */
export function hasIAM({ iam, aws }: Pick<ReviewSettings, "iam" | "aws">): boolean {
  return iam.length + aws.length > 0;
}

/** Adds to each state who can assume its roles. All callers are intended, because roots can share roles. */
export async function withReviews(
  states: readonly State[], settings: ReviewSettings, io: IO, nowMs: number,
): Promise<readonly ReviewedState[]> {
  if (!hasIAM(settings)) return states.map((state) => ({ ...state, trust: null }));
  const found = states.map((state) => ({ state, ...trustCallers(settings, state.controllers) }));
  const notes = new Set(found.flatMap(({ state, callers, notes: ofCallers }) => {
    const { targets } = state.inventory.roleTargets(settings);
    return [...ofCallers, ...unassumedNotes(targets, callers.map(({ via }) => via))];
  }));
  writeLines(io.stderr, Array.from(notes, (note) => printable(`note: ${note}`)));
  // Most runs read no exports.
  const [{ asking }, { readIAMFiles }, { Intended }, { ownRoleRow }, { TrustReview: Review }] = await Promise.all([
    import("./asking.ts"), import("./iam-files.ts"), import("../../shared/trust/intended.ts"),
    import("../../shared/trust/own-role.ts"), import("../../shared/trust/trust-review.ts"),
  ]);
  const data = await readIAMFiles(settings.iam, settings.aws);
  const others = asking(() => new Intended(settings.intended ?? []), "--intended ");
  const nowSeconds = Math.floor(nowMs / 1000);
  return asking(() => {
    const owners = new Map(found.flatMap((one) => one.owners).map((owner) => [JSON.stringify(owner), owner]));
    const lost = [...owners.values()].map((owner) => ownRoleRow(owner, data, nowSeconds))
      .filter(({ decision }) => decision.verdict === "no");
    writeLines(io.stderr, lost.flatMap(({ problems, target, caller }) => problems.map(({ message }) => (
      printable(`note: ${caller.arn} cannot assume the controller's own role ${target.roleARN}: ${message}`)
    ))));
    const intended = others.with(found.flatMap(({ callers }) => callers.map(({ arn }) => arn)));
    return found.map(({ state, callers }) => (
      { ...state, trust: new Review({ callers, data, nowSeconds, intended }) }
    ));
  });
}
