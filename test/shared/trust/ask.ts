import { NOTHING_SENT } from "../../../shared/trust/assume-role-call.ts";
import type { IAMData } from "../../../shared/trust/iam-data.ts";
import { answer, type Question } from "../../../shared/trust/trust-question.ts";
import { type Fields, ROLE } from "./trust-cases.ts";

export function question(principalARN: string, roleARN: string = ROLE, tags: Fields = {}): Question {
  return {
    principalARN, roleARN,
    parameters: {
      ...NOTHING_SENT, tags: new Map(Object.entries(tags).map(([key, value]) => [key, String(value)])),
    },
  };
}

/** Returns the verdict, with what is missing or the reason of a no. */
export function ask(principal: string, data: IAMData, role: string = ROLE): string {
  const { verdict, actions, missing } = answer(question(principal, role), data, 1_795_000_000);
  return [verdict, ...missing, ...(verdict === "no" ? [actions[0]?.reason.split(/[;,]/, 1)[0]] : [])].join(": ");
}
