import { printable } from "../formats/text.ts";
import { causeOf } from "./refusal-causes.ts";
import { denialIn, principalOf, type RefusedCall, type STSAnswer } from "./refused-call.ts";
import { trustCommands } from "./trust-command.ts";

/** The default length of an explanation without the answer of STS. Tags can make a command longer. */
const MAX_BYTES = 2_048;

/**
 * Returns the likely cause of a refusal, the fix and a command that shows the cause, and then the answer of STS. All
 * but the answer has at most `maxBytes`; it lacks the ARNs or the command if it is longer with them.
 */
export function refusalText(answer: STSAnswer, call: RefusedCall, maxBytes = MAX_BYTES): string {
  const text = [...explanations(answer, call)].find((one) => new TextEncoder().encode(one).length <= maxBytes);
  return `${text ?? ""} ${answer.message}`.trimStart();
}

function* explanations(answer: STSAnswer, call: RefusedCall): Iterable<string> {
  const long = headOf(answer, call, true);
  const short = headOf(answer, call, false);
  const commands = [...trustCommands(causeOf(answer, call, "").shownBy, call, answer)];
  const [best] = commands;
  if (best !== undefined) yield `${long} Show it: \`${best}\`.`;
  else yield long;
  for (const command of commands) yield `${short} Show it: \`${command}\`.`;
  yield short;
}

function headOf(answer: STSAnswer, call: RefusedCall, hasARNs: boolean): string {
  const caller = call.action === "AssumeRole" ? call.caller : null;
  const { cause, fix } = causeOf(answer, call, hasARNs && caller !== null ? principalOf(caller) : "the caller");
  const denial = denialIn(answer);
  const what = call.action === "AssumeRole" ? denial?.action ?? "sts:AssumeRole" : `sts:${call.action}`;
  const verb = denial === null ? "rejected" : "denied";
  const role = hasARNs ? ` on ${printable(call.roleARN)} for ${nameOf(call)}` : "";
  return `STS ${verb} ${what}${role}: ${cause}. ${fix.charAt(0).toUpperCase()}${fix.slice(1)}.`;
}

function nameOf(call: RefusedCall): string {
  if (call.action !== "AssumeRole") return call.subject;
  return call.caller ?? (call.owner === "identity" ? "the source of the identity" : "the sidecar");
}
