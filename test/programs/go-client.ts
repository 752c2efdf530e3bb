import path from "node:path";
import type { Recipe } from "./cache.ts";
import { goBuild } from "./go-build.ts";

const PROGRAM = "go-client";

/** A client of the AWS SDK for Go, which can also act as a controller. */
export const GO_CLIENT: Recipe = {
  name: PROGRAM,
  group: "sdks",
  needs: "Go >= 1.25, once, about a minute",
  sources: path.join(import.meta.dirname, "../real/sdks/clients/go"),
  files: ["go.mod", "go.sum", "clock.go", "controller.go", "main.go", "tally.go"],
  makes: [PROGRAM],
  build: (folder, module) => goBuild(goClientIn(folder), { module }),
};

/** Returns the program in the folder of GO_CLIENT. */
export function goClientIn(folder: string): string {
  return path.join(folder, PROGRAM);
}
