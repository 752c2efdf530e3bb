import { rename, rm } from "node:fs/promises";
import path from "node:path";
import type { Recipe } from "./cache.ts";
import { runTool } from "./run-program.ts";

const PROGRAM = "rust-client";

/** A client of the AWS SDK for Rust. */
export const RUST_CLIENT: Recipe = {
  name: PROGRAM,
  group: "sdks",
  needs: "Rust >= 1.94.1 with cargo and a C linker, once, about a minute",
  sources: path.join(import.meta.dirname, "../real/sdks/clients/rust"),
  files: ["Cargo.toml", "Cargo.lock", path.join("src", "main.rs")],
  makes: [PROGRAM],
  async build(folder, sources) {
    const target = path.join(folder, "target");
    await runTool("cargo", ["build", "--quiet", "--release", "--locked", "--target-dir", target], sources);
    await rename(path.join(target, "release", PROGRAM), rustClientIn(folder));
    await rm(target, { recursive: true });
  },
};

/** Returns the program in the folder of RUST_CLIENT. */
export function rustClientIn(folder: string): string {
  return path.join(folder, PROGRAM);
}
