import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { systemClock } from "../../shared/core/clock.ts";
import type { SettingsFor } from "../../shared/core/settings.ts";
import { errorMessage, ResolverError } from "../../shared/formats/errors.ts";
import { printable } from "../../shared/formats/text.ts";
import type { IAMData } from "../../shared/trust/iam-data.ts";
import { parseQuestion } from "../../shared/trust/question-json.ts";
import { withSessionTags } from "../../shared/trust/role-caller.ts";
import {
  answer, answerFor, findCaller, parseTarget, type Question, QuestionError,
} from "../../shared/trust/trust-question.ts";
import type { DecisionJSON } from "../../shared/trust/verdict-text.ts";
import { asking } from "./asking.ts";
import { readIAMFiles } from "./iam-files.ts";
import { drained, EXIT, type ExitStatus, type IO, writeJSON, writeLines } from "../io.ts";
import { decisionLines } from "./decision-lines.ts";

type Settings = SettingsFor<"trust check">;

/** Prints whether a caller can assume a role, or answers a file of questions. */
export async function runTrustCheck(settings: Settings, io: IO, clock = systemClock): Promise<ExitStatus> {
  const { requests, iam, aws, output } = settings;
  const question = requests === null ? questionOf(settings) : null;
  const data = await readIAMFiles(iam, aws);
  const nowSeconds = Math.floor(clock.now() / 1000);
  const decide = (asked: Question): DecisionJSON => answerOf(asked, settings, data, nowSeconds);
  if (question === null) return await answerFile(requests ?? "-", decide, io);
  const result = asking(() => decide(question));
  if (output === "json") writeJSON(io, result);
  else writeLines(io.stdout, [result.verdict, ...decisionLines(result)].map(printable));
  return result.verdict === "yes" ? EXIT.fine : EXIT.findings;
}

function invalid(message: string): ResolverError {
  return new ResolverError("ERR_CONFIG_INVALID", message);
}

function questionOf(settings: Settings): Question {
  const { role, externalId, sourceIdentity, sessionName, duration, transitiveTag } = settings;
  const [caller, ...others] = settings.caller;
  if (caller === undefined || others.length > 0 || role === null) {
    throw invalid("pass one --caller and --role, or questions with --requests");
  }
  const tags = new Map(settings.tag.map((text): [string, string] => {
    const at = text.indexOf("=");
    if (at < 1) throw invalid(`--tag ${text}: expected KEY=VALUE`);
    return [text.slice(0, at), text.slice(at + 1)];
  }));
  if (tags.size < settings.tag.length) throw invalid("--tag: two tags have the same key");
  const parameters = {
    externalID: externalId, sourceIdentity, sessionName, tags, transitiveTagKeys: transitiveTag,
    durationSeconds: duration === null ? null : Number(duration),
  };
  return { principalARN: caller, roleARN: role, parameters };
}

function answerOf(
  question: Question, { callerCredentials: credentials }: Settings, data: IAMData, nowSeconds: number,
): DecisionJSON {
  if (credentials === null) return answer(question, data, nowSeconds);
  const { principalARN: arn, roleARN, parameters } = question;
  const caller = withSessionTags(findCaller(arn, data), { arn, credentials });
  return answerFor(caller, { ...parameters, role: parseTarget(roleARN) }, data, nowSeconds).decision;
}

/** Answers each line of a file with a line. A bad line does not end the run. */
async function answerFile(path: string, decide: (question: Question) => DecisionJSON, io: IO): Promise<ExitStatus> {
  let status: ExitStatus = EXIT.fine;
  const lines = createInterface({ input: path === "-" ? io.stdin : createReadStream(path), crlfDelay: Infinity });
  try {
    for await (const line of lines) {
      if (line.trim() === "") continue;
      const result = answerLine(line, decide);
      io.stdout.write(`${JSON.stringify(result)}\n`);
      await drained(io.stdout);
      status = worse(status, "error" in result ? EXIT.usage : result.verdict === "yes" ? EXIT.fine : EXIT.findings);
    }
  } catch (error) {
    const message = printable(`--requests ${path}: ${errorMessage(error)}`);
    throw new ResolverError("ERR_INPUT_UNREADABLE", message, { cause: error });
  }
  return status;
}

function worse(a: ExitStatus, b: ExitStatus): ExitStatus {
  return a > b ? a : b;
}

function answerLine(
  line: string, decide: (question: Question) => DecisionJSON,
): DecisionJSON | { readonly error: string } {
  try {
    return decide(parseQuestion(line));
  } catch (error) {
    if (error instanceof QuestionError) return { error: error.message };
    throw error;
  }
}
