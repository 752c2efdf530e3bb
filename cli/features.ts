import type { Evidence, Feature, ReviewSettings, RoleReview } from "./feature.ts";
import type { SkippedCheck } from "../shared/core/run.ts";
import type { DecisionSettings } from "../shared/core/context.ts";
import type { State } from "./input/state.ts";
import type { IO } from "./io.ts";
import { CAPA } from "./capa/feature.ts";
import { CARM } from "./carm/feature.ts";
import { ROLE_MAP } from "./role-map/feature.ts";
import { TRUST } from "./trust/feature.ts";

/** The parts of the program that can be taken out. */
export const FEATURES: readonly Feature[] = [CAPA, CARM, ROLE_MAP, TRUST];

/** The state of a root, and what the checks of features read. */
export type ReviewedState = State & { readonly evidence: Evidence };

interface Reviewed {
  readonly states: readonly ReviewedState[];
  /** Null if the settings ask for no review. */
  readonly review: RoleReview | null;
}

function reviewerFor(settings: ReviewSettings): Feature["roleReviewer"] {
  return FEATURES.flatMap(({ roleReviewer }) => roleReviewer ?? []).find(({ isAsked }) => isAsked(settings));
}

/** Whether a command judges the roles that its input names. */
export function reviewsRoles(settings: ReviewSettings): boolean {
  return reviewerFor(settings) !== undefined;
}

/** Adds to each state what the checks of its roles read. */
export async function reviewRoles(
  states: readonly State[], settings: ReviewSettings, io: IO, nowMs: number,
): Promise<Reviewed> {
  const review = await reviewerFor(settings)?.review(states, settings, io, nowMs) ?? null;
  return { review, states: states.map((state, i) => ({ ...state, evidence: review?.evidence[i] ?? {} })) };
}

/** Returns the checks that features skip, because what they read could not be read. */
export function unreadChecks(state: State, { checkSeverities }: DecisionSettings): SkippedCheck[] {
  return FEATURES.flatMap(({ unread }) => unread?.(state) ?? [])
    .filter(({ code }) => checkSeverities.get(code) !== "off");
}
