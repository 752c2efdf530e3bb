import { runChecks } from "../../shared/judges.ts";
import type { Finding } from "../../shared/core/check.ts";
import type { DecisionSettings } from "../../shared/core/context.ts";
import { kindOf } from "../../shared/kinds.ts";
import { objectKey } from "../../shared/files/object-key.ts";
import { appliedObject } from "../../shared/files/proposed-state.ts";
import type { JsonObject } from "../../shared/formats/json.ts";
import { objectReference } from "../../shared/formats/object-meta.ts";
import type { InventoryChange } from "../../shared/core/inventory.ts";
import type { State } from "./state.ts";

/** The kinds without finalizers. Any other object exists until a controller has deleted what it stands for. */
const GONE_AT_ONCE: ReadonlySet<unknown> = new Set(["selector", "identity", "carm-map"]);

type Key = ReturnType<typeof objectKey>;

/**
 * Checks changes in their order, each against the state that the admitted ones before it leave. Changes the inventory
 * of the state, until `undo`: a copy would not know what has not been listed.
 */
export class OrderedChecks {
  readonly #state: Pick<State, "inventory" | "origin">;
  readonly #settings: DecisionSettings;
  readonly #stored: Map<Key, JsonObject>;
  /** The changed objects as they were; null if one did not exist. */
  readonly #before = new Map<Key, { readonly object: JsonObject; readonly old: JsonObject | null }>();

  constructor(state: State, settings: DecisionSettings) {
    this.#state = state;
    this.#settings = settings;
    this.#stored = new Map(state.objects.map(({ object }) => [objectKey(object), object]));
  }

  findingsOfApply(manifest: JsonObject): readonly Finding[] {
    const old = this.#stored.get(objectKey(manifest)) ?? null;
    const { findings, denied } = this.#check({ object: manifest, old });
    if (!denied) this.#store(manifest, appliedObject(manifest, old, this.#state.origin));
    return findings;
  }

  findingsOfDelete(manifest: JsonObject): readonly Finding[] {
    const object = this.#stored.get(objectKey(manifest));
    if (object === undefined) return [];
    const { findings, denied } = this.#check({ object, old: null, operation: "DELETE" });
    if (!denied) this.#remove(object);
    return findings;
  }

  /** Leaves the inventory as it was. */
  undo(): void {
    this.#state.inventory.apply(Array.from(this.#before.values(), ({ object, old }) => changeTo(object, old)));
  }

  #check(change: Pick<Parameters<typeof runChecks>[0], "object" | "old" | "operation">): ReturnType<typeof runChecks> {
    const { inventory } = this.#state;
    return runChecks({ ...change, requester: null, origin: "file", inventory }, this.#settings);
  }

  #store(object: JsonObject, next: JsonObject): void {
    const key = objectKey(object);
    // An object without a name is created anew each time.
    if (key === null) return;
    this.#record(key, object);
    this.#stored.set(key, next);
    this.#state.inventory.apply([{ type: "put", object: next }]);
  }

  #remove(object: JsonObject): void {
    const { inventory } = this.#state;
    const kind = kindOf(objectReference(object));
    if (kind?.store === undefined || !GONE_AT_ONCE.has(kind.id)) return;
    inventory.apply([changeTo(object, null)]);
    if (inventory.includes(kind.store)) {
      this.#record(objectKey(object), object);
      this.#stored.delete(objectKey(object));
      // In manifests without any object of a kind, checks treat all objects of the kind as unknown.
    } else inventory.apply([{ type: "put", object }]);
  }

  #record(key: Key, object: JsonObject): void {
    if (!this.#before.has(key)) this.#before.set(key, { object, old: this.#stored.get(key) ?? null });
  }
}

function changeTo(object: JsonObject, next: JsonObject | null): InventoryChange {
  if (next !== null) return { type: "put", object: next };
  const { group, kind, namespace, name } = objectReference(object);
  return { type: "remove", group, kind, namespace, name };
}
