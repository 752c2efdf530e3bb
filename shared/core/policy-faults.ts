import { isJsonObject, type JsonObject } from "../formats/json.ts";
import { quote } from "../formats/text.ts";
import { MAX_TEXT, parsePolicy } from "./session-policy.ts";
import { POLICY_PATTERN } from "./session.ts";

/** A fault of a policy, and the policy without it if only one can be meant. */
export interface PolicyFault {
  readonly message: string;
  readonly repaired: JsonObject | null;
}

/** Returns the faults of an inline session policy. The messages quote names and values of it. */
export function policyFaults(text: string): readonly PolicyFault[] {
  if (text.length > MAX_TEXT) return [{ message: `the policy has more than ${MAX_TEXT} characters`, repaired: null }];
  const policy = parsePolicy(text);
  if (policy === null) return [{ message: "the policy is not a JSON object, or nested too deeply", repaired: null }];
  const written = JSON.stringify(policy);
  const faults = POLICY_PATTERN.test(written) ? [] : [{
    message: "the policy contains characters that STS does not accept", repaired: null,
  }];
  return [...faults, ...unknownFields(policy), ...statementFaults(policy)];
}

const FORBIDDEN = ["Principal", "NotPrincipal"];
/** The fields that STS reads. A policy with others is not sent: nobody knows what STS makes of `statement`. */
const FIELDS: ReadonlySet<string> = new Set(["Version", "Id", "Statement"]);
const STATEMENT_FIELDS: ReadonlySet<string> = new Set([
  "Sid", "Effect", "Action", "NotAction", "Resource", "NotResource", "Condition", ...FORBIDDEN,
]);
const VERSIONS: readonly unknown[] = ["2012-10-17", "2008-10-17"];

function unknownFields(policy: JsonObject): readonly PolicyFault[] {
  const { Version: version } = policy;
  const faults = Object.keys(policy).filter((name) => !FIELDS.has(name)).map((name) => {
    const { [name]: _removed, ...rest } = policy;
    return { message: `the policy has ${quote(name)}, which no policy has`, repaired: rest };
  });
  if (version === undefined || VERSIONS.includes(version)) return faults;
  const repaired = { ...policy, Version: VERSIONS[0] };
  return [...faults, { message: "the Version of the policy is not 2012-10-17", repaired }];
}

const EFFECTS = ["Allow", "Deny"];

function statementFaults(policy: JsonObject): readonly PolicyFault[] {
  const statements = [policy["Statement"] ?? []].flat() as readonly unknown[];
  if (statements.length === 0) return [{ message: "the policy has no Statement", repaired: null }];
  const repairedWith = (index: number, statement: JsonObject): JsonObject => (
    { ...policy, Statement: statements.with(index, statement) }
  );
  return statements.flatMap((statement, i): readonly PolicyFault[] => {
    const place = `Statement ${i + 1} of the policy`;
    if (!isJsonObject(statement)) return [{ message: `${place} is not an object`, repaired: null }];
    return [
      ...FORBIDDEN.filter((name) => name in statement).map((name) => {
        const { [name]: _removed, ...rest } = statement;
        const message = `${place} has ${name}, which STS rejects: the session itself is the principal`;
        return { message, repaired: repairedWith(i, rest) };
      }),
      ...Object.keys(statement).filter((name) => !STATEMENT_FIELDS.has(name)).map((name) => {
        const { [name]: _removed, ...rest } = statement;
        return { message: `${place} has ${quote(name)}, which no statement has`, repaired: repairedWith(i, rest) };
      }),
      ...effectFaults(statement, place, (fixed) => repairedWith(i, fixed)),
      ...valueFaults(statement, place),
      ...[["Action", "NotAction"], ["Resource", "NotResource"]].filter((names) => (
        names.filter((name) => name in statement).length !== 1
      )).map((names) => ({ message: `${place} must have either ${names.join(" or ")}`, repaired: null })),
    ];
  });
}

/** What STS accepts as a value of a field. Source: the grammar of policies in the guide of IAM. */
const VALUES: readonly (readonly [fields: readonly string[], pattern: RegExp, expected: string])[] = [
  [["Action", "NotAction"], /^(\*|[a-zA-Z0-9*?-]+:[a-zA-Z0-9*?]+)$/, "SERVICE:ACTION, such as kms:Decrypt, or *"],
  [["Resource", "NotResource"], /^(\*|arn:[^:]*:[^:]*:[^:]*:[^:]*:.+|arn:.*\*.*)$/s, "an ARN, or *"],
];

function valueFaults(statement: JsonObject, place: string): readonly PolicyFault[] {
  return VALUES.flatMap(([fields, pattern, expected]) => fields.flatMap((name) => {
    const values: readonly unknown[] = [statement[name] ?? []].flat();
    const wrong = values.find((value) => typeof value !== "string" || !pattern.test(value));
    if (wrong === undefined) return [];
    const shown = typeof wrong === "string" ? quote(wrong) : "a value";
    return [{ message: `${shown} in ${name} of ${place} is not ${expected}`, repaired: null }];
  }));
}

function effectFaults(
  statement: JsonObject, place: string, repairedWith: (statement: JsonObject) => JsonObject,
): readonly PolicyFault[] {
  const { Effect: effect } = statement;
  if (EFFECTS.some((one) => one === effect)) return [];
  const meant = EFFECTS.find((one) => one.toLowerCase() === String(effect).trim().toLowerCase());
  const repaired = meant === undefined ? null : repairedWith({ ...statement, Effect: meant });
  return [{ message: `the Effect of ${place} is neither Allow nor Deny`, repaired }];
}
