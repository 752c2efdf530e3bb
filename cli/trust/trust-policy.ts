import { systemClock } from "../../shared/core/clock.ts";
import type { SettingsFor } from "../../shared/core/settings.ts";
import { parseRoleARN } from "../../shared/formats/arn.ts";
import { ResolverError } from "../../shared/formats/errors.ts";
import { closest } from "../../shared/formats/nearest.ts";
import { printable, quote } from "../../shared/formats/text.ts";
import { combinedPolicies } from "../../shared/core/session-policies.ts";
import { scopeOf, SCOPES } from "../../shared/core/session-scope.ts";
import { NO_EXTRAS } from "../../shared/core/session.ts";
import { parseJSON } from "../../shared/formats/json.ts";
import type { IAMData } from "../../shared/trust/iam-data.ts";
import type { NeededCallers } from "../../shared/trust/needed-call.ts";
import { cloudFormationLines, terraformLines } from "../../shared/trust/policy-formats.ts";
import { foreignRoles, isOpen, policyPlan, type PolicyPlan, resourcesOf } from "../../shared/trust/policy-plan.ts";
import { credentialsOf } from "../../shared/trust/role-caller.ts";
import { needsByRole } from "../../shared/trust/role-needs.ts";
import { readIAMFiles } from "./iam-files.ts";
import { checkTarget, readNamers } from "./role-namers.ts";
import { EXIT, type ExitStatus, type IO, writeJSON, writeLines } from "../io.ts";

type Settings = SettingsFor<"trust policy">;

/** Prints the policies that the roles of selectors and their callers need. */
export async function runTrustPolicy(
  name: string | null, settings: Settings, io: IO, clock = systemClock,
): Promise<ExitStatus> {
  if (settings.group.length > 0) return writeScope(name, settings, io);
  checkSettings(name, settings);
  const data = settings.iam.length + settings.aws.length === 0 ? null : await readIAMFiles(settings.iam, settings.aws);
  const namers = await readNamers(name, settings, io, "trust policy --from -");
  if (namers === null) return EXIT.usage;
  const { needs, faults } = needsByRole(namers, settings.via);
  const callers = callersOf(settings, data, io);
  const [foreign] = foreignRoles(needs, callers);
  if (foreign !== undefined) throw invalid(`--caller: a role can be assumed only inside its partition: ${foreign}`);
  writeLines(io.stderr, faults.map(printable));
  const existing = data !== null && settings.diff ? { data, nowSeconds: Math.floor(clock.now() / 1000) } : null;
  const plan = policyPlan(needs, callers, existing);
  writePlan(plan, settings, io);
  if (faults.length > 0) return EXIT.usage;
  return isOpen(plan) ? EXIT.findings : EXIT.fine;
}

/**
 * Prints what the controllers of the groups need at most, as the sidecar sends it to STS, and on standard error who
 * demands the actions of other services.
 */
function writeScope(name: string | null, { group, all, from, cluster, output }: Settings, io: IO): ExitStatus {
  const isAlone = name === null && !all && from.length === 0 && !cluster;
  if (!isAlone || output !== "json") throw invalid("--group: not supported with a name, other input, or -o");
  const unknown = group.find((one) => !SCOPES.has(one));
  const meant = unknown === undefined ? null : closest(serviceOf(unknown), Array.from(SCOPES.keys(), serviceOf));
  if (meant !== null) throw invalid(`--group ${unknown}: did you mean ${meant}.services.k8s.aws?`);
  const policy = parseJSON(combinedPolicies(NO_EXTRAS, NO_EXTRAS, scopeOf(group)).policy ?? "");
  const foreign = group.flatMap((one) => SCOPES.get(one)?.foreign ?? []);
  writeLines(io.stderr, foreign.map((one) => `${one.actions.join(", ")}: ${one.from}`));
  writeJSON(io, policy);
  return EXIT.fine;
}

/** Returns the first part of an API group, such as s3. */
function serviceOf(group: string): string {
  return group.split(".", 1).join();
}

function invalid(message: string): ResolverError {
  return new ResolverError("ERR_CONFIG_INVALID", printable(message));
}

function checkSettings(name: string | null, { caller, diff, iam, aws, output, ...settings }: Settings): void {
  if (name?.startsWith("arn:") === true) {
    throw invalid(`${name} is an ARN: pass the name of the selector or other object that names it`);
  }
  checkTarget(name, settings, "the name of a selector");
  if (settings.from.length === 0 && !settings.cluster) throw invalid("pass --from or --cluster to read the selectors");
  if (diff && iam.length + aws.length === 0) throw invalid("--diff: pass the export to compare with, with --iam");
  if (diff && output !== "json") throw invalid("--diff: supported only with -o json");
  checkCallers(caller);
}

function checkCallers(caller: Settings["caller"]): void {
  if (caller.length === 0) throw invalid("--caller is missing: pass the ARN of the controllers' own role");
  const wrong = caller.find((arn) => parseRoleARN(arn) === null);
  if (wrong !== undefined) throw invalid(`--caller ${quote(wrong)} is not the ARN of a role`);
}

function callersOf({ caller, via, callerCredentials }: Settings, data: IAMData | null, io: IO): NeededCallers {
  const callers = [...new Set(caller)];
  const credentials = callerCredentials ?? (data === null ? null : credentialsOf(callers, data));
  if (credentials === null && via !== "eks-capability") {
    writeLines(io.stderr, ["warning: with EKS Pod Identity, the callers also need sts:TagSession; pass "
      + "--caller-credentials, or their export with --iam"]);
  }
  return { callers, via, credentials };
}

function writePlan(plan: PolicyPlan, { output }: Settings, io: IO): void {
  if (output === "json") writeJSON(io, plan);
  else {
    const lines = output === "terraform" ? terraformLines : cloudFormationLines;
    writeLines(io.stdout, lines(resourcesOf(plan)).map(printable));
  }
}
