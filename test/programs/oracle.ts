import path from "node:path";
import type { Recipe } from "./cache.ts";
import { goBuild } from "./go-build.ts";

const PROGRAM = "oracle";

/** The selector matcher that ACK ships. */
export const ORACLE: Recipe = {
  name: "ack-oracle",
  group: "oracle",
  needs: "Go >= 1.25, once, about 3 minutes",
  sources: path.join(import.meta.dirname, "../real/oracle/go"),
  files: ["go.mod", "go.sum", "main.go", "matcher.go", "labels.go"],
  makes: [PROGRAM],
  build: (folder, module) => goBuild(oracleIn(folder), { module }),
};

/** Returns the program in the folder of ORACLE. */
export function oracleIn(folder: string): string {
  return path.join(folder, PROGRAM);
}
