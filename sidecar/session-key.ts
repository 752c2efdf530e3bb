import { hash } from "node:crypto";
import { compareText } from "../shared/decisions/finding.ts";
import type { SessionRequest } from "../shared/decisions/session.ts";

/** Who asks which STS. */
export interface Asker {
  /** The ARN of the base identity. Its role counts, not its session: that is another one each time the base is renewed. */
  readonly identity: string;
  /** The Region of STS, whose partition the role's ARN names; null where an endpoint stands for it. */
  readonly region: string | null;
}

/**
 * What tells sessions apart: who asks, and everything that STS is asked for, in one order. The role stands in it as it is, for metrics; the
 * rest, which may be nobody's business, as a digest.
 */
export function sessionKey(request: SessionRequest, { identity, region }: Asker): string {
  const { roleARN, sessionName, durationSeconds, externalID, sourceIdentity, tags, policy, policyARNs } = request;
  const sortedTags = tags.map(({ key, value }) => JSON.stringify([key, value])).toSorted(compareText);
  const distinct = [
    withoutSession(identity), region, sessionName, durationSeconds, externalID, sourceIdentity, sortedTags, policy, policyARNs.toSorted(compareText),
  ];
  return JSON.stringify([roleARN, hash("sha256", JSON.stringify(distinct), "base64url")]);
}

/** The role of a session's key. */
export function roleOfSession(key: string): string {
  const parts: unknown = JSON.parse(key);
  return Array.isArray(parts) ? String(parts[0]) : "";
}

function withoutSession(arn: string): string {
  return arn.replace(/^(arn:[^:]*:sts::\d*:assumed-role\/[^/]*)\/.*$/, "$1");
}
