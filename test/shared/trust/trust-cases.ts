import {
  type AssumeRoleCall, type Caller, NOTHING_SENT, type Request, type SessionCaller, type UserCaller,
} from "../../../shared/trust/assume-role-call.ts";
import { type Decision, decideAssumeRole, type Policies } from "../../../shared/trust/assume-role.ts";
import { parsePolicy } from "../../../shared/trust/policy-document.ts";
import type { PolicySource, Side } from "../../../shared/trust/side-evaluation.ts";
import { NO, unknown, YES } from "../../../shared/trust/three-values.ts";

export type Fields = Readonly<Record<string, unknown>>;

export const ROLE = "arn:aws:iam::222222222222:role/target";
export const APP = "arn:aws:iam::111122223333:role/team/app";
/** A caller in the account of the role. */
export const NEAR = "arn:aws:iam::222222222222:role/near";

const CALL: AssumeRoleCall = { ...NOTHING_SENT, role: { arn: ROLE, partition: "aws", accountID: "222222222222" } };

export function sessionOf(roleARN: string, fields: Partial<SessionCaller> = {}): SessionCaller {
  const [, partition = "", , , accountID = ""] = roleARN.split(":");
  return {
    kind: "session", partition, accountID, uniqueID: "AROAEXAMPLEEXAMPLEID1", tags: new Map(), roleARN,
    roleName: roleARN.slice(roleARN.lastIndexOf("/") + 1), sessionName: null, sourceIdentity: null,
    transitiveTags: new Map(), ...fields,
  };
}

export function userOf(arn: string, fields: Partial<UserCaller> = {}): UserCaller {
  const [, partition = "", , , accountID = ""] = arn.split(":");
  const userName = arn.slice(arn.lastIndexOf("/") + 1);
  return { kind: "user", partition, accountID, uniqueID: null, tags: new Map(), arn, userName, ...fields };
}

export function requestOf(caller: Caller, call: Partial<AssumeRoleCall> = {}, fields: Partial<Request> = {}): Request {
  return { call: { ...CALL, ...call }, caller, roleTags: new Map(), nowSeconds: 1_795_000_000, ...fields };
}

export function source(side: Side, statements: readonly Fields[] | null, name: string = side): PolicySource {
  if (statements === null) return { side, name, parsed: null };
  const document = { Version: "2012-10-17", Statement: statements };
  return { side, name, parsed: parsePolicy(document, side === "trust" ? "trust" : "identity") };
}

/** Statements of each side; null for a document that is missing. */
export interface Documents {
  readonly trust: readonly Fields[] | null;
  readonly identity?: readonly Fields[] | null;
  readonly boundary?: readonly Fields[] | null;
  readonly session?: readonly Fields[];
}

export function policiesOf({ trust, identity = [], boundary, session }: Documents): Policies {
  return {
    trust: source("trust", trust),
    identity: [source("identity", identity)],
    boundary: boundary === undefined ? null : source("boundary", boundary),
    hasBoundary: boundary === undefined ? NO : boundary === null ? unknown("boundary") : YES,
    session: session === undefined ? [] : [source("session", session)],
  };
}

export function decide(request: Request, documents: Documents, maxSessionSeconds: number | null = null): Decision {
  return decideAssumeRole(request, policiesOf(documents), maxSessionSeconds);
}

export function allow(principal: unknown, fields: Fields = {}): Fields {
  return { Effect: "Allow", Principal: principal, Action: "sts:AssumeRole", ...fields };
}

export function grant(fields: Fields = {}): Fields {
  return { Effect: "Allow", Action: "sts:*", Resource: "*", ...fields };
}
