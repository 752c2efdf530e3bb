import { runSimulation } from "@cloud-copilot/iam-simulate";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { evaluateCondition } from "../../../shared/trust/condition.ts";
import { parsePolicy, type Statement } from "../../../shared/trust/policy-document.ts";
import { type LookUp, resolveTemplate } from "../../../shared/trust/policy-variables.ts";
import { matchesAction, matchesResource } from "../../../shared/trust/wildcard-pattern.ts";
import { statements } from "./policy-texts.ts";

/** One call of AWS: `context` has its condition keys. */
export interface Call {
  readonly action: string;
  readonly resource: string;
  readonly context: Readonly<Record<string, string>>;
}

/** Whether one of the session policies allows the call and none denies it, by the evaluator of trust policies. */
export function allowsCall(policies: readonly JsonObject[], call: Call): boolean {
  const all = policies.flatMap((policy) => parsePolicy(policy, "identity").policy?.statements ?? []);
  const applied = all.filter((statement) => applies(statement, call));
  return applied.some(({ effect }) => effect === "Allow") && applied.every(({ effect }) => effect !== "Deny");
}

function applies({ actions, resources, conditions }: Statement, { action, resource, context }: Call): boolean {
  const lookUp: LookUp = (key) => {
    const value = Object.entries(context).find(([name]) => name.toLowerCase() === key)?.[1];
    return [value === undefined ? null : [{ text: value, isPrefix: false }]];
  };
  const onAction = actions.items.some((pattern) => matchesAction(pattern, action)) !== actions.isNegated;
  const onResource = resources.items.some((template) => {
    const resolved = template === null ? null : resolveTemplate(template, lookUp);
    return resolved?.state === "pattern" && matchesResource(resolved.pattern, resource).answer === "yes";
  });
  return onAction && onResource !== resources.isNegated
    && conditions.every((condition) => evaluateCondition(condition, lookUp).answer === "yes");
}

const ACCOUNT = "111122223333";

/** Whether a session with the policy may make the call, by the evaluator of @cloud-copilot/iam-simulate. */
export async function simulates(policy: JsonObject, { action, resource, context }: Call): Promise<boolean> {
  const result = await runSimulation({
    request: {
      principal: `arn:aws:sts::${ACCOUNT}:assumed-role/team-a/ack`, action,
      resource: { resource, accountId: ACCOUNT }, contextVariables: context,
    },
    sessionPolicy: policy, identityPolicies: [{ name: "all", policy: statements({ Effect: "Allow" }) }],
    serviceControlPolicies: [], resourceControlPolicies: [],
    // A key whose policy names nobody lets nobody use it.
    ...(action.startsWith("kms:") && { resourcePolicy: statements({ Effect: "Allow", Principal: { AWS: ACCOUNT } }) }),
  }, {});
  if (result.resultType === "error") throw new Error(`${action} on ${resource}: ${JSON.stringify(result.errors)}`);
  return result.overallResult === "Allowed";
}
