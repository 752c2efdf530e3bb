import type { InventorySource } from "../../../shared/sources/source.ts";

/** Resolves when `condition()` is true, which is checked now and after each change of the source. */
export async function eventually(source: InventorySource, condition: () => boolean): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const check = (): void => (condition() ? resolve() : undefined);
  const unsubscribe = source.onChange(check);
  check();
  await promise;
  unsubscribe();
}
