/** An answer to a question about a policy. `unknown` depends on something that the input does not contain. */
export type Answer = "yes" | "no" | "unknown";

/** An answer, and what is missing if it is unknown: condition keys, documents or exports, as texts for a report. */
export interface Match {
  readonly answer: Answer;
  readonly missing: readonly string[];
}

export const YES: Match = { answer: "yes", missing: [] };
export const NO: Match = { answer: "no", missing: [] };

export function unknown(...missing: readonly string[]): Match {
  return { answer: "unknown", missing };
}

export function known(isTrue: boolean): Match {
  return isTrue ? YES : NO;
}

/** Returns no if one answer is no, otherwise unknown if one is unknown. Returns yes for an empty list. */
export function allOf(matches: Iterable<Match>): Match {
  return join(matches, "no");
}

/** Returns yes if one answer is yes, otherwise unknown if one is unknown. Returns no for an empty list. */
export function anyOf(matches: Iterable<Match>): Match {
  return join(matches, "yes");
}

function join(matches: Iterable<Match>, deciding: "yes" | "no"): Match {
  const missing = new Set<string>();
  let isUnknown = false;
  for (const match of matches) {
    if (match.answer === deciding) return deciding === "yes" ? YES : NO;
    if (match.answer !== "unknown") continue;
    isUnknown = true;
    for (const one of match.missing) missing.add(one);
  }
  if (isUnknown) return unknown(...missing);
  return deciding === "yes" ? NO : YES;
}

export function not(match: Match): Match {
  if (match.answer === "unknown") return match;
  return match.answer === "yes" ? NO : YES;
}

/** Returns the answer on which all matches agree. If they differ, the answer depends on `cause`. */
export function agreed(matches: readonly Match[], cause: string): Match {
  const answers = new Set(matches.map(({ answer }) => answer));
  const [first] = matches;
  if (first !== undefined && answers.size === 1 && first.answer !== "unknown") return first;
  const missing = new Set(matches.flatMap((match) => match.missing));
  if (answers.size !== 1 || missing.size === 0) missing.add(cause);
  return unknown(...missing);
}
