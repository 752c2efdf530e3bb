import { ResolverError } from "../../shared/formats/errors.ts";
import { QuestionError } from "../../shared/trust/trust-question.ts";

/** Returns the result, or throws that the flag is not valid if its text asks nothing that can be answered. */
export function asking<Result>(ask: () => Result, flag = ""): Result {
  try {
    return ask();
  } catch (error) {
    throw error instanceof QuestionError ? new ResolverError("ERR_CONFIG_INVALID", `${flag}${error.message}`) : error;
  }
}
