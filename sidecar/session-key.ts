import { createHash } from "node:crypto";
import { compareText } from "../shared/decisions/finding.ts";
import type { SessionRequest } from "../shared/decisions/session.ts";

/**
 * What tells sessions apart: everything that STS is asked for, in one order. The role stands in it as it is, for metrics; the rest,
 * which may be nobody's business, as a digest.
 */
export function sessionKey({ roleARN, ...rest }: SessionRequest): string {
  const { sessionName, durationSeconds, externalID, sourceIdentity, tags, policy, policyARNs } = rest;
  const sortedTags = tags.map(({ key, value }) => JSON.stringify([key, value])).toSorted(compareText);
  const distinct = [sessionName, durationSeconds, externalID, sourceIdentity, sortedTags, policy, policyARNs.toSorted(compareText)];
  return JSON.stringify([roleARN, createHash("sha256").update(JSON.stringify(distinct)).digest("base64url")]);
}

/** The role of a session's key. */
export function roleOfSession(key: string): string {
  const parts: unknown = JSON.parse(key);
  return Array.isArray(parts) ? String(parts[0]) : "";
}
