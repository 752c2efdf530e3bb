/** The checks without repairs, and what only a person can know. */
export const ONLY_A_PERSON_KNOWS: ReadonlyMap<string, string> = new Map([]);
