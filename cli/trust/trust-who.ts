import { systemClock } from "../../shared/core/clock.ts";
import type { SettingsFor } from "../../shared/core/settings.ts";
import { countOf, printable } from "../../shared/formats/text.ts";
import type { IAMData } from "../../shared/trust/iam-data.ts";
import { Intended } from "../../shared/trust/intended.ts";
import { isServiceLinked } from "../../shared/trust/managed-roles.ts";
import { TrustChains } from "../../shared/trust/trust-chains.ts";
import { parseTarget } from "../../shared/trust/trust-question.ts";
import { sourceRole } from "../../shared/trust/trust-target.ts";
import {
  sortedRoles, type WhoElse, whoElse, whoElseJSON, whoElseLines, WhoElseText,
} from "../../shared/trust/who-else.ts";
import { asking } from "./asking.ts";
import { checkExports, readIAMFiles } from "./iam-files.ts";
import { checkTarget, readNamers } from "./role-namers.ts";
import { drained, EXIT, type ExitStatus, type IO, JSONListWriter, writeJSON, writeLines } from "../io.ts";

type Settings = SettingsFor<"trust who">;

/** Prints who else can assume a role, the role of a selector, or all roles. */
export async function runTrustWho(
  target: string | null, settings: Settings, io: IO, clock = systemClock,
): Promise<ExitStatus> {
  checkTarget(target, settings, "the ARN of a role, the name of a selector");
  const intended = asking(() => new Intended(settings.intended), "--intended ");
  if (isARN(target)) asking(() => parseTarget(target));
  const data = await readIAMFiles(settings.iam, settings.aws);
  const roles = await rolesOf(target, settings, data, io);
  if (roles === null) return EXIT.usage;
  const chains = new TrustChains({ data, nowSeconds: Math.floor(clock.now() / 1000) }, intended);
  for (const { role } of roles) chains.read(role);
  const output = outputOf(settings, data, io);
  const tally = { open: 0, faults: 0 };
  for (const { role, sources } of roles) {
    const result = whoElse(role, data, chains, sources);
    if ("fault" in result) {
      tally.faults++;
      writeLines(io.stderr, [printable(`${role}: ${result.fault}`)]);
      continue;
    }
    if (result.unintended.length > 0) tally.open++;
    output.add(result);
    // oxlint-disable-next-line no-await-in-loop -- the results of 200,000 roles take 1 GB
    await drained(io.stdout);
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
  const text = new WhoElseText();
  return { add: (result) => list.add(text.of(result)), end: () => list.end() };
}

function isARN(target: string | null): target is string {
  return target?.startsWith("arn:") === true;
}

/** A role to examine, and the roles that are intended to assume it, because identities name them as its source. */
interface ExaminedRole {
  readonly role: string;
  readonly sources: readonly string[];
}

/** Returns the roles to examine, each once; null if the manifests are unreadable. */
async function rolesOf(
  target: string | null, settings: Settings, data: IAMData, io: IO,
): Promise<readonly ExaminedRole[] | null> {
  if (isARN(target)) return [{ role: target, sources: [] }];
  if (settings.from.length === 0 && !settings.cluster) return allRoles(data, io);
  const namers = await readNamers(target, settings, io, "trust who --from -");
  if (namers === null) return null;
  const sources = Map.groupBy(namers.others, ({ roleARN }) => roleARN);
  const roles = new Set([...namers.selectors, ...namers.others].map(({ roleARN }) => roleARN));
  return [...roles].toSorted().map((role) => (
    { role, sources: sources.get(role)?.flatMap((one) => sourceRole(one) ?? []) ?? [] }
  ));
}

/** Returns every role of the exports, also those without a known name, but for those that nobody can edit. */
function allRoles(data: IAMData, io: IO): readonly ExaminedRole[] {
  checkExports(data);
  const all = [...data.roles()];
  const others = all.filter((role) => !isServiceLinked(role, data));
  if (others.length < all.length) {
    const count = countOf(all.length - others.length, "service-linked role");
    writeLines(io.stderr, [`note: ${count} not listed, because only their services assume and edit them`]);
  }
  return [...sortedRoles(others), ...data.unnamed.keys()].map((role) => ({ role, sources: [] }));
}
