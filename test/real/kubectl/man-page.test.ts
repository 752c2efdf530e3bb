import path from "node:path";
import { test } from "tap";
import { readEnvironment } from "../../programs/environment.ts";
import { findPackages } from "../../programs/packages.ts";
import { runProgram } from "../../programs/run-program.ts";
import { ROOT } from "../ci/packed.ts";

const PAGE = path.join(ROOT, "man/ack-role-resolver.1");

test("mandoc finds no fault in the man page, and shows it", async (t) => {
  const found = await findPackages("shells");
  if ("fault" in found) {
    if (readEnvironment().ci) throw new Error(found.fault);
    t.plan(0, found.fault);
    return;
  }
  const lint = await runProgram(found.paths.mandoc, ["-T", "lint", "-W", "warning", PAGE], { cwd: ROOT });
  // A date would change the page with each build.
  t.same(lint.stdout.split("\n").filter((line) => line !== "" && !line.includes("missing date")), []);
  const { stdout } = await runProgram(found.paths.mandoc, ["-T", "utf8", PAGE], { cwd: ROOT });
  // Bold text is a character, a backspace and the character.
  const parts = stdout.split("\b");
  const plain = parts.map((part, i) => (i + 1 < parts.length ? part.slice(0, -1) : part)).join("");
  t.match(plain, /\n {3}why RESOURCE\n[^]*\n +-n, --namespace <NS>\n/);
});
