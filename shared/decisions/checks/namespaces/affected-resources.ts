import type { ACKResource } from "../../kubernetes/ack-resource.ts";
import type { FieldPath } from "../../kubernetes/field-path.ts";
import { printable } from "../../kubernetes/text.ts";
import type { Fault } from "../check.ts";
import { listResources, SCAN_LIMIT } from "../message-lists.ts";

/** What a change of a namespace does to resources. */
export interface Effect {
  /** Returns the message for a count such as `2 resources`. Effects with equal messages are one effect. */
  readonly messageFor: (count: string) => string;
  /** Whether the effect only warns. */
  readonly isHarmless?: true;
}

/** The resources that a change of a namespace affects, grouped by effect. */
export class AffectedResources {
  readonly #groups = new Map<string, { readonly effect: Effect; readonly resources: ACKResource[] }>();
  #harmed = 0;

  add(resource: ACKResource, effect: Effect): void {
    const key = effect.messageFor("");
    const group = this.#groups.get(key) ?? { effect, resources: [] };
    group.resources.push(resource);
    this.#groups.set(key, group);
    if (effect.isHarmless !== true) this.#harmed++;
  }

  /** Whether the scan can stop. Resources with a harmless effect do not count. */
  get isFull(): boolean {
    return this.#harmed >= SCAN_LIMIT;
  }

  /** Returns one fault for each effect. */
  faults(path: FieldPath): Fault[] {
    return Array.from(this.#groups.values(), ({ effect: { messageFor, isHarmless }, resources }) => {
      // An account id in a status or in an ARN may be any text.
      const message = printable(listResources(resources, messageFor, this.isFull));
      return { path, message, ...(isHarmless === true && { severity: "warn" as const }) };
    });
  }
}
