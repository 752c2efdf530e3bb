import { systemClock } from "../shared/clock.ts";
import type { SettingsFor } from "../shared/contract/settings.ts";
import { ResolverError } from "../shared/formats/errors.ts";
import { countOf, printable } from "../shared/formats/text.ts";
import type { IAMData } from "../shared/trust/iam-data.ts";
import { Intended } from "../shared/trust/intended.ts";
import { TrustChains } from "../shared/trust/trust-chains.ts";
import { parseTarget, QuestionError } from "../shared/trust/trust-question.ts";
import { sortedRoles, type WhoElse, whoElse, whoElseJSON, whoElseLines } from "../shared/trust/who-else.ts";
import { readIAMFiles } from "./input/iam-files.ts";
import { checkTarget, readSelectors } from "./input/trust-targets.ts";
import { EXIT, type ExitStatus, type IO, JSONListWriter, writeJSON, writeLines } from "./io.ts";

type Settings = SettingsFor<"trust who">;

/** Prints who else can assume a role, the role of a selector, or all roles. */
export async function runTrustWho(
  target: string | null, settings: Settings, io: IO, clock = systemClock,
): Promise<ExitStatus> {
  checkTarget(target, settings, "the ARN of a role, the name of a selector");
  const intended = parsed("--intended ", () => new Intended(settings.intended));
  if (isARN(target)) parsed("", () => parseTarget(target));
  const data = await readIAMFiles(settings.iam, settings.aws);
  const roles = await rolesOf(target, settings, data, io);
  if (roles === null) return EXIT.usage;
  const chains = new TrustChains({ data, nowSeconds: Math.floor(clock.now() / 1000) }, intended);
  for (const role of roles) chains.trustedBy(role);
  const output = outputOf(settings, data, io);
  const tally = { open: 0, faults: 0 };
  for (const role of roles) {
    const result = whoElse(role, data, chains);
    if ("fault" in result) {
      tally.faults++;
      writeLines(io.stderr, [printable(`${role}: ${result.fault}`)]);
      continue;
    }
    if (result.unintended.length > 0) tally.open++;
    output.add(result);
  }
  output.end(`others can assume ${tally.open} of ${countOf(roles.length - tally.faults, "role")}`);
  if (tally.faults > 0) return EXIT.usage;
  return tally.open > 0 ? EXIT.findings : EXIT.fine;
}

interface Output {
  readonly add: (result: WhoElse) => void;
  readonly end: (summary: string) => void;
}

/** Writes each result at once: a list with --all, and otherwise the result of the one role. */
function outputOf({ output, all }: Settings, data: IAMData, io: IO): Output {
  if (output === "text") {
    return {
      add: (result) => writeLines(io.stdout, whoElseLines(result, data).map(printable)),
      end: (summary) => writeLines(io.stderr, [summary]),
    };
  }
  if (!all) return { add: (result) => writeJSON(io, whoElseJSON(result)), end: () => {} };
  const list = new JSONListWriter(io);
  return { add: (result) => list.add(whoElseJSON(result)), end: () => list.end() };
}

function isARN(target: string | null): target is string {
  return target?.startsWith("arn:") === true;
}

function invalid(message: string): ResolverError {
  return new ResolverError("ERR_CONFIG_INVALID", message);
}

function parsed<Value>(flag: string, parse: () => Value): Value {
  try {
    return parse();
  } catch (error) {
    throw error instanceof QuestionError ? invalid(`${flag}${error.message}`) : error;
  }
}

/** Returns the ARNs of the roles to examine, each once; null if the manifests are unreadable. */
async function rolesOf(
  target: string | null, settings: Settings, data: IAMData, io: IO,
): Promise<readonly string[] | null> {
  if (isARN(target)) return [target];
  if (settings.from.length === 0 && !settings.cluster) return sortedRoles(data.roles());
  const selectors = await readSelectors(target, settings, io, "trust who --from -");
  return selectors === null ? null : [...new Set(selectors.map(({ roleARN }) => roleARN))].toSorted();
}
