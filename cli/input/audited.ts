import { isSelector } from "../../shared/core/ack-groups.ts";
import type { DecisionSettings } from "../../shared/core/context.ts";
import { type Audit, auditObjects } from "../../shared/diagnosis/audit.ts";
import { countOf } from "../../shared/formats/text.ts";
import type { Evidence } from "../feature.ts";
import type { IO } from "../io.ts";
import { runWithProgress } from "../output/progress.ts";
import type { State, StateObject } from "./state.ts";

/** Audits some objects of the state, and shows the progress. */
export function auditWithProgress(
  state: Pick<State, "objects" | "inventory" | "origin"> & { readonly evidence?: Evidence },
  objects: readonly StateObject[], settings: DecisionSettings, io: IO,
): Audit {
  const { inventory, origin, evidence = {} } = state;
  const storedSelectors = state.objects.map(({ object }) => object).filter(isSelector);
  const input = { ...evidence, objects: objects.map(({ object }) => object), storedSelectors, inventory, origin };
  const work = auditObjects(input, settings);
  return runWithProgress(work, io, (checked) => `${checked} of ${countOf(objects.length, "object")} checked`);
}
