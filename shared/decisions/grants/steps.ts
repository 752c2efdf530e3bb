import { LIMITS } from "../limits.ts";
import { deny, type Grant } from "./grant.ts";

/**
 * Limits the steps of one decision, such as comparisons, so that a large inventory cannot block the sidecar for long.
 */
export class Steps {
  #left: number = LIMITS.grantSteps.value;

  /** Counts `number` steps. Throws if the decision takes more steps than the limit. */
  take(number = 1): void {
    this.#left -= number;
    if (this.#left < 0) throw new TooManySteps();
  }
}

class TooManySteps extends Error {}

/** Returns the result of `decide`, or a denial if the decision takes too many steps. */
export function withinSteps(decide: (steps: Steps) => Grant): Grant {
  try {
    return decide(new Steps());
  } catch (error) {
    if (error instanceof TooManySteps) return TOO_MANY_STEPS;
    throw error;
  }
}

const TOO_MANY_STEPS = deny(
  "ERR_SELECTOR_AMBIGUOUS",
  `The decision takes more than ${LIMITS.grantSteps.value} steps, because too many IAMRoleSelectors name the role or `
    + "select the same namespaces. Remove conflicting selectors, request one kind, or set --kind of the sidecar.",
);
