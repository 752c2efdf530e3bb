import { setFlagsFromString } from "node:v8";

/**
 * Keeps V8's young generation as small as it starts, 1 MB. Left alone it grows to 16 MB while a program loads its modules and stays so for
 * life; here hardly anything of a request outlives it. V8 reads this flag whenever it would grow, so no command line is needed for it.
 */
export function keepHeapSmall(): void {
  setFlagsFromString("--semi-space-growth-factor=1");
}
