import { EXTERNAL_ID_ANNOTATION } from "../annotation-keys.ts";
import { findingSentences } from "../checks/check.ts";
import { AUD_08, AUD_09 } from "../checks/definitions/blind-spots.ts";
import { overlappingSelectors } from "../checks/selectors/conflicts.ts";
import { formatFieldPath } from "../kubernetes/field-path.ts";
import type { Inventory } from "../inventory/inventory.ts";
import { listOf } from "../kubernetes/text.ts";
import { type Paced, paced } from "../paced.ts";
import { type DecodedSelector, withholdsGrant } from "../selectors/decode.ts";
import { type Problem, selectorSubject } from "./problem.ts";

/** A note has room for a few faults. `audit` lists all faults. */
const MAX_FAULTS = 3;
const SELECTORS_BETWEEN_PAUSES = 5;
const NONE: ReadonlySet<string> = new Set();

const OVERLAP_FIX = "restrict the selectors so that only one of them selects each resource, or name the replaced "
  + "selector in the annotation ack-role-resolver.io/replaces";

/** Reports the problems of IAMRoleSelectors and of CustomResourceDefinitions. Pauses regularly. */
export function* clusterProblems(
  inventory: Inventory, extraGroups: readonly string[], report: (problem: Problem) => void,
): Paced<void> {
  for (const problem of definitionProblems(inventory, extraGroups)) report(problem);
  const { selectors } = inventory;
  const faulty = new Map([...selectors.malformed, ...selectors.faulty]);
  yield* paced(faulty.values(), SELECTORS_BETWEEN_PAUSES, (selector) => {
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
    const message = `the selector can select the same resources as ${listOf(names)}, and controllers do not reconcile `
      + "a resource that two selectors select";
    report({
      subject: selectorSubject(selector), reason: "SelectorsOverlap", note: sentences(message, OVERLAP_FIX),
    });
  }
}

function faultProblem({ name, spec: { uid }, faults }: DecodedSelector, isMalformed: boolean): Problem {
  const denying = faults.filter(withholdsGrant);
  const texts = denying.slice(0, MAX_FAULTS).map(({ check, fault: { path, message, fix } }) => {
    // The message of a fault can quote the value, and an external ID is a secret.
    const isSecret = path.some((part) => typeof part === "object" && part.key === EXTERNAL_ID_ANNOTATION);
    const text = findingSentences({ message: isSecret ? "the value is not valid" : message, fix: fix ?? check.fix });
    return `${check.id} ${formatFieldPath(path)}: ${text}`;
  });
  const effect = isMalformed ? "Controllers ignore this selector." : "Sidecars grant no role of this selector.";
  const others = denying.length - texts.length;
  const more = others > 0 ? ` ${others} more: run \`ack-role-resolver audit --cluster\`.` : "";
  return {
    subject: selectorSubject({ name, uid }), reason: isMalformed ? "MalformedSelector" : "FaultySelector",
    note: `${effect} ${texts.join(" ")}${more}`,
  };
}

/** Yields a problem for each ACK kind of an unknown group, and for a CRD of IAMRoleSelector that lacks fields. */
function* definitionProblems(inventory: Inventory, extraGroups: readonly string[]): Iterable<Problem> {
  for (const { group, kind, name, uid } of inventory.kinds.definitions()) {
    const subject = {
      apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", namespace: "", name, uid,
    };
    const stored = { group, kind, inventory, selectors: [], extraGroups };
    const missing = Array.from(AUD_08.find(stored), ({ message }) => message);
    if (missing.length > 0) {
      yield { subject, reason: "SelectorFieldsPruned", note: sentences(missing.join("; "), AUD_08.fix) };
    }
    for (const { message } of AUD_09.find(stored)) {
      yield { subject, reason: "UnknownACKGroup", note: sentences(message, AUD_09.fix) };
    }
  }
}

function sentences(message: string, fix: string): string {
  return findingSentences({ message: `${message.charAt(0).toUpperCase()}${message.slice(1)}`, fix });
}
