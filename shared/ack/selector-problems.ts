import { EXTERNAL_ID_ANNOTATION } from "../core/annotation-keys.ts";
import { selectorSubject } from "../core/event-subjects.ts";
import { findingSentences } from "../core/check.ts";
import { noteOf, type Problem, type StoreProblems } from "../core/problem.ts";
import { formatFieldPath } from "../formats/json.ts";
import { paced } from "../formats/paced.ts";
import { listOf } from "../formats/text.ts";
import { overlappingSelectors } from "./selector-conflicts.ts";
import type { JudgedSelector } from "./selector.ts";
import { SELECTORS } from "./selectors.ts";

/** A note has room for a few faults. `audit` lists all faults. */
const MAX_FAULTS = 3;
const BETWEEN_PAUSES = 5;
const NONE: ReadonlySet<string> = new Set();

const OVERLAP_FIX = "restrict the selectors so that only one of them selects each resource, or name the replaced "
  + "selector in the annotation ack-role-resolver.io/replaces";

/** The faulty IAMRoleSelectors, and those that can select the same resources. */
export const SELECTOR_PROBLEMS: StoreProblems = {
  revision: (inventory) => inventory.of(SELECTORS).revision,
  * scan({ inventory }, report) {
    const selectors = inventory.of(SELECTORS);
    yield* paced([...selectors.faulty.values()], BETWEEN_PAUSES, (selector) => {
      report(faultProblem(selector, selectors.malformed.has(selector.name)));
      return true;
    });
    // With --runtime extended, an annotation of a resource chooses one of several selectors.
    if (inventory.runtime === "extended") return;
    for (const selector of selectors.values()) {
      // A namespace that does not exist has no resources. IRS-17 and NS-01 check the writes that change this.
      const names = yield* overlappingSelectors(inventory, selector, NONE, "existing");
      yield 0;
      if (names.length === 0) continue;
      const message = `the selector can select the same resources as ${listOf(names)}, and controllers do not `
        + "reconcile a resource that two selectors select";
      report({ subject: selectorSubject(selector), reason: "SelectorsOverlap", note: noteOf(message, OVERLAP_FIX) });
    }
  },
};

function faultProblem({ name, spec: { uid }, faults }: JudgedSelector, isMalformed: boolean): Problem {
  const denying = faults.filter((one) => one.withholdsGrant);
  const texts = denying.slice(0, MAX_FAULTS).map(({ code, path, message, fix }) => {
    // The message of a fault can quote the value, and an external ID is a secret.
    const isSecret = path.some((part) => typeof part === "object" && part.key === EXTERNAL_ID_ANNOTATION);
    const text = findingSentences({ message: isSecret ? "the value is not valid" : message, fix });
    return `${code} ${formatFieldPath(path)}: ${text}`;
  });
  const effect = isMalformed ? "Controllers ignore this selector." : "Sidecars grant no role of this selector.";
  const others = denying.length - texts.length;
  const more = others > 0 ? ` ${others} more: run \`ack-role-resolver audit --cluster\`.` : "";
  return {
    subject: selectorSubject({ name, uid }), reason: isMalformed ? "MalformedSelector" : "FaultySelector",
    note: `${effect} ${texts.join(" ")}${more}`,
  };
}
