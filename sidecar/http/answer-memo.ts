import type { IncomingMessage, ServerResponse } from "node:http";
import type { SteadyClock } from "../../shared/core/clock.ts";
import type { Closures } from "../../shared/core/closures.ts";
import type { Inventory } from "../../shared/core/inventory.ts";
import { BoundedMap } from "../../shared/server/bounded-map.ts";
import type { InventorySource } from "../../shared/sources/source.ts";
import type { AuditLog } from "../audit-log.ts";
import type { BaseIdentity } from "../base/identity.ts";
import type { CredentialCache } from "../credentials/cache.ts";
import type { Issued, SharedIssue } from "../credentials/issuer.ts";
import { type ClockReading, readClocks, usableAt } from "../credentials/session.ts";
import type { LiveClosures } from "../installed-profile.ts";
import type { SidecarMetrics } from "../metrics.ts";
import { faultOfRequest, type RequestCheckPorts } from "./request-check.ts";
import { CREDENTIAL_HEADERS } from "./respond.ts";

export interface AnswerMemoPorts extends RequestCheckPorts {
  readonly source: Pick<InventorySource, "inventory">;
  readonly profile: Pick<LiveClosures, "closures">;
  readonly base: Pick<BaseIdentity, "verified">;
  readonly sessions: Pick<CredentialCache, "use">;
  readonly audit: Pick<AuditLog, "repeats">;
  readonly metrics: Pick<SidecarMetrics, "responses">;
  readonly clock: SteadyClock;
}

/** An answer to a request for the credentials of a role. */
interface Answer {
  /** The route pattern, for metrics. */
  readonly route: string;
  readonly issue: SharedIssue;
  readonly headers: string[];
  /** Text, because Node.js sends it in one write with the headers. */
  readonly body: string;
}

/** What decides which role a request gets, besides its path and the settings, and the answers that follow from it. */
export interface Knowledge {
  readonly inventory: Inventory;
  readonly revision: number;
  readonly closures: Closures;
  /** By path. */
  readonly answers: BoundedMap<string, Answer>;
}

interface AnsweredRequest extends Pick<Answer, "route" | "body"> {
  readonly path: string;
  readonly issued: Issued;
}

/** The maximum number of answers, and of the characters in the path of each. */
const LIMIT = { answers: 2_000, path: 512 } as const;

/**
 * Gives a repeated request for the credentials of a role the same answer again, in front of the framework. Nothing else
 * in the sidecar remembers a decision: a request that `answer` does not answer is decided from the start.
 *
 * A repeat gets only what it would get without this class, because its answer depends on nothing but
 * - the method and the headers: `faultOfRequest` checks the token, the Host header and the others of each request;
 * - the path, which is the key, and the settings, which do not change;
 * - the selectors, the CARM maps and the profile: with a change of these, other `knowledge` begins, without answers;
 * - the identity that assumed the role: it is still the verified one;
 * - the session: it is still cached, with these credentials, for 60 s or more on both clocks. This ends with a refresh,
 *   when STS denies the role, and when the sidecar stops;
 * - the list of issued keys: `/sts` still accepts this key;
 * - the audit log: it only counts this client until it writes its next line.
 *
 * A repeat counts in the metrics and in the audit log as any request does, and as a use of the session, so it starts a
 * refresh that is due.
 */
export class AnswerMemo {
  readonly #ports: AnswerMemoPorts;
  #knowledge: Knowledge | null = null;

  constructor(ports: AnswerMemoPorts) {
    this.#ports = ports;
  }

  /** What a decision now depends on. The same object until this changes. */
  get knowledge(): Knowledge {
    const { source: { inventory }, profile: { closures } } = this.#ports;
    const [{ revision }, last] = [inventory, this.#knowledge];
    if (last?.inventory === inventory && last.revision === revision && last.closures === closures) return last;
    this.#knowledge = { inventory, revision, closures, answers: new BoundedMap(LIMIT.answers) };
    return this.#knowledge;
  }

  /** Remembers the answer to a request that was decided with `knowledge`, which may be outdated by now. */
  remember({ path, route, issued, body }: AnsweredRequest, { answers }: Knowledge): void {
    const { shared, credentials: { expirationMs } } = issued;
    // A body without an expiration of the session states one that depends on the time.
    if (shared === null || expirationMs === null || path.length > LIMIT.path) return;
    const headers = [...CREDENTIAL_HEADERS, "content-length", String(Buffer.byteLength(body))];
    answers.set(path, { route, issue: shared, headers, body });
  }

  /** Answers a repeated request. Returns false if the framework must serve or reject the request. */
  answer(request: IncomingMessage, response: ServerResponse): boolean {
    const { clock, audit, sessions, metrics } = this.#ports;
    const reading = readClocks(clock);
    const answer = this.#find(request.url ?? "", reading);
    if (answer === undefined || faultOfRequest(request, this.#ports) !== null) return false;
    const { route, issue, headers, body } = answer;
    if (!audit.repeats.countAgain(issue.repeats, issue.credentials.accessKeyID, reading.steadyMs)) return false;
    sessions.use(issue.entry, issue.lookup, reading);
    response.writeHead(200, headers).end(body);
    metrics.responses.observe({ path: route, code: 200 }, (clock.steady() - reading.steadyMs) / 1000);
    return true;
  }

  /** Returns the answer of the path, unless it is outdated. */
  #find(path: string, reading: ClockReading): Answer | undefined {
    const answer = this.knowledge.answers.get(path);
    if (answer === undefined) return undefined;
    const { base, entry, credentials, stored } = answer.issue;
    const isCurrent = base === this.#ports.base.verified && stored.isRecorded
      && entry.isCached && usableAt(entry, reading) === credentials;
    return isCurrent ? answer : undefined;
  }
}
