import {
  type Action, type Caller, type IAMCaller, isInIAM, type Request, type SessionCaller, type Tags, type TokenCaller,
} from "./assume-role-call.ts";
import { formatSeconds } from "./date-value.ts";
import { issuerOf } from "./open-callers.ts";
import type { LookUp, Possibilities } from "./policy-variables.ts";
import type { Value } from "./wildcard-pattern.ts";

export const ABSENT: Possibilities = [null];
/** The value of a key of which nothing is known, not even whether the request has it. */
export const UNKNOWN: Possibilities = [null, [{ text: "", isPrefix: true }]];

function exactly(text: string): Value {
  return { text, isPrefix: false };
}

export function present(text: string): Possibilities {
  return [[exactly(text)]];
}

/** `end` is the known end of the value. */
export function startsWith(text: string, end = ""): Possibilities {
  return [[{ text, isPrefix: true, end }]];
}

function orAbsent(text: string | null): Possibilities {
  return text === null ? ABSENT : present(text);
}

/** Returns the values of a key with several values, which is absent if there are none. */
function listOrAbsent(texts: Iterable<string>): readonly Value[] | null {
  const values = [...texts].map(exactly);
  return values.length === 0 ? null : values;
}

/**
 * Returns the values that the condition keys of a request have when an action is authorized. Sources:
 * https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_condition-keys.html and
 * https://docs.aws.amazon.com/service-authorization/latest/reference/list_awssecuritytokenservice.html
 */
export function keysOf(request: Request, action: Action): LookUp {
  const { call, caller } = request;
  const fixed = new Map<string, Possibilities>([
    ...CONSTANT_KEYS,
    ...callerKeys(caller),
    ["aws:currenttime", present(formatSeconds(request.nowSeconds))],
    ["aws:epochtime", present(String(Math.floor(request.nowSeconds)))],
    ["aws:resourceaccount", present(call.role.accountID)],
    ["sts:externalid", ifListed(orAbsent(call.externalID), action === "sts:AssumeRole")],
    ["sts:rolesessionname", ifListed(sessionNameOf(call), action === "sts:AssumeRole")],
    ["sts:sourceidentity", ifListed(sourceIdentityOf(request), action !== "sts:TagSession")],
    ["aws:tagkeys", ifListed(withInherited(request, call.tags.keys()), action !== "sts:SetSourceIdentity")],
    ["sts:transitivetagkeys", ifListed(
      withInherited(request, call.transitiveTagKeys), action !== "sts:SetSourceIdentity",
    )],
  ]);
  return (key) => fixed.get(key) ?? tagKey(key, request, action) ?? otherKey(key, caller);
}

/** Keys that no call of a workload has, because only calls of services set them. */
const CONSTANT_KEYS: readonly (readonly [key: string, values: Possibilities])[] = [
  ...[
    "aws:sourcearn", "aws:sourceaccount", "aws:sourceorgid", "aws:sourceorgpaths", "aws:principalservicename",
    "aws:principalservicenameslist", "aws:calledvia", "aws:calledviafirst", "aws:calledvialast",
  ].map((key) => [key, ABSENT] as const),
  ["aws:principalisawsservice", present("false")],
  ["aws:viaawsservice", present("false")],
];

/** An action whose documentation does not list a key may be authorized with or without it. */
function ifListed(values: Possibilities, isListed: boolean): Possibilities {
  return isListed || values === ABSENT ? values : [...values, null];
}

function sessionNameOf({ sessionName, sessionNameStart = "" }: Request["call"]): Possibilities {
  return sessionName === null ? startsWith(sessionNameStart) : present(sessionName);
}

function sourceIdentityOf({ call, caller }: Request): Possibilities {
  return orAbsent(call.sourceIdentity ?? (caller.kind === "session" ? caller.sourceIdentity : null));
}

function transitiveTags(caller: Caller): Tags {
  return caller.kind === "session" ? caller.transitiveTags : NO_TAGS;
}

const NO_TAGS: Tags = new Map();

/** AWS does not document whether a request has the keys of inherited tags. */
function withInherited({ caller }: Request, sent: Iterable<string>): Possibilities {
  const keys = [...sent];
  const inherited = [...transitiveTags(caller).keys()];
  const own = listOrAbsent(keys);
  if (inherited.length > 0) return [own, listOrAbsent(new Set([...keys, ...inherited]))];
  return own === null ? ABSENT : [own];
}

function callerKeys(caller: Caller): (readonly [string, Possibilities])[] {
  if (caller.kind === "service") return serviceKeys(caller.name);
  if (caller.kind === "token") return tokenKeys(caller);
  const isSession = caller.kind === "session";
  return [
    ["aws:principalaccount", present(caller.accountID)],
    ["aws:principaltype", present(isSession ? "AssumedRole" : "User")],
    ["aws:principalarn", isSession ? roleARNOf(caller) : present(caller.arn)],
    ["aws:userid", userID(caller)],
    ["aws:username", isSession ? ABSENT : present(caller.userName)],
    ["aws:sourceidentity", orAbsent(isSession ? caller.sourceIdentity : null)],
    ...SESSION_KEYS.map((key) => [key, isSession ? UNKNOWN : ABSENT] as const),
  ];
}

/**
 * Keys that depend on where a session comes from: an identity provider, an instance of EC2 or a function of Lambda.
 * Sources: reference_policies_condition-keys.html, and EC2 and Lambda in the service authorization reference.
 */
const SESSION_KEYS = [
  "aws:federatedprovider", "ec2:sourceinstancearn", "ec2:roledelivery", "lambda:sourcefunctionarn",
  "ssm:sourceinstancearn", "glue:credentialissuingservice",
];

/** Source: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_iam-condition-keys.html (web identity) */
function tokenKeys({ provider, subject, audience }: TokenCaller): (readonly [string, Possibilities])[] {
  const issuer = issuerOf(provider).toLowerCase();
  const open = ["aws:principalaccount", "aws:principalarn", "aws:principaltype", "aws:userid", "aws:username"];
  return [
    ...open.map((key) => [key, UNKNOWN] as const),
    [`${issuer}:sub`, subject === null ? startsWith("system:serviceaccount:") : present(subject)],
    [`${issuer}:aud`, present(audience)],
  ];
}

function serviceKeys(name: string): (readonly [string, Possibilities])[] {
  const absent = ["aws:principalaccount", "aws:principalarn", "aws:username", "aws:federatedprovider"];
  return [
    ...absent.map((key) => [key, ABSENT] as const),
    ["aws:principalisawsservice", present("true")],
    ["aws:principalservicename", present(name)],
    ...["aws:sourcearn", "aws:sourceaccount", "aws:sourceorgid", "aws:sourceorgpaths", "aws:principalservicenameslist"]
      .map((key) => [key, UNKNOWN] as const),
  ];
}

/** Without an export, the path of the role is not known. */
function roleARNOf({ roleARN, roleName, partition, accountID }: SessionCaller): Possibilities {
  return roleARN === null ? startsWith(`arn:${partition}:iam::${accountID}:role/`, roleName) : present(roleARN);
}

function userID(caller: IAMCaller): Possibilities {
  if (caller.kind === "user") return caller.uniqueID === null ? startsWith("") : present(caller.uniqueID);
  const { sessionName } = caller;
  if (caller.uniqueID === null) return startsWith("", `:${sessionName ?? ""}`);
  return sessionName === null ? startsWith(`${caller.uniqueID}:`) : present(`${caller.uniqueID}:${sessionName}`);
}

const TAG_KEY = /^(aws:requesttag|aws:principaltag|aws:resourcetag|iam:resourcetag)\/(.+)$/s;

/** Returns the values of a key that ends in the key of a tag, or null for another key. */
function tagKey(key: string, request: Request, action: Action): Possibilities | null {
  const [, prefix, name = ""] = TAG_KEY.exec(key) ?? [];
  if (prefix === undefined) return null;
  const { call, caller } = request;
  const inherited = tagValue(transitiveTags(caller), name);
  if (prefix === "aws:requesttag") {
    const sent = tagValue(call.tags, name);
    const values = sent ?? (inherited === null ? ABSENT : [null, ...inherited]);
    return ifListed(values, action !== "sts:SetSourceIdentity");
  }
  if (prefix !== "aws:principaltag") {
    // In role chaining, an inherited tag replaces the tag of the role:
    // https://docs.aws.amazon.com/IAM/latest/UserGuide/id_session-tags.html
    return inherited ?? tagOf(request.roleTags, name);
  }
  return isInIAM(caller) ? tagOf(caller.tags, name) : ABSENT;
}

function tagOf(tags: Tags | null, name: string): Possibilities {
  return tags === null ? UNKNOWN : tagValue(tags, name) ?? ABSENT;
}

/** Returns the value of a tag, regardless of the case of its key; null if it is absent. `name` is in lowercase. */
function tagValue(tags: Tags, name: string): Possibilities | null {
  for (const [key, value] of tags) {
    if (key.toLowerCase() === name) return value === null ? startsWith("") : present(value);
  }
  return null;
}

/**
 * Any other key of AWS may be in the request. The keys of other services, of SAML and of OpenID Connect providers, and
 * those of other operations of STS and IAM, are absent.
 */
function otherKey(key: string, caller: Caller): Possibilities {
  const isOfToken = caller.kind === "token" && !key.startsWith("sts:") && !key.startsWith("saml:");
  return key.startsWith("aws:") || isOfToken ? UNKNOWN : ABSENT;
}
