const SIZE = "a person decides what to leave out or to split";
const IAM = "the policies are in IAM: `trust policy` prints them";
const SECRET = "a repair would contain a confidential value";
const WRITER = "another program wrote it, and only its permissions can change";
const ANOTHER_CRD = "the definition of the kind has to change, or the manifest that was applied";

/** The checks that deny and have no repair, and why. Reviewed: a check belongs here only if no value can be told. */
export const ONLY_A_PERSON_KNOWS: ReadonlyMap<string, string> = new Map([
  ["AC-08", SIZE], ["ACK-35", SIZE], ["CI-34", SIZE], ["CM-14", SIZE], ["FE-02", SIZE], ["IRS-48", SIZE],
  ["NS-14", SIZE], ["POD-10", SIZE],
  ["CI-10", SECRET], ["IRS-42", SECRET],
  ["CM-15", WRITER], ["IRS-24", WRITER],
  ["IRS-16", ANOTHER_CRD],
  ["CI-35", IAM], ["IRS-27", IAM], ["TR-01", IAM], ["TR-03", IAM], ["TR-04", IAM], ["TR-05", IAM], ["TR-08", IAM],
]);
