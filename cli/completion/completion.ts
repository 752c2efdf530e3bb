import { ResolverError } from "../../shared/formats/errors.ts";
import { quote } from "../../shared/formats/text.ts";
import { EXIT, type ExitStatus, type IO, writeLines } from "../io.ts";
import { COMPLETION_FILE } from "../plugin.ts";
import { SCRIPTS, SHELLS } from "./scripts.ts";

const KUBECTL_NOTE = "kubectl 1.26 or later completes plugins; `kubectl version --client` prints yours. Write the "
  + `script to an executable file ${COMPLETION_FILE} in the PATH.`;

/** Prints the script that completes command lines in a shell. */
export function runCompletion(name: string, io: IO): ExitStatus {
  const shell = SHELLS.find((one) => one === name);
  if (shell === undefined) {
    throw new ResolverError("ERR_CONFIG_INVALID", `${quote(name)}: expected one of ${SHELLS.join(", ")}`);
  }
  io.stdout.write(SCRIPTS[shell]);
  if (shell === "kubectl") writeLines(io.stderr, [`note: ${KUBECTL_NOTE}`]);
  return EXIT.fine;
}
