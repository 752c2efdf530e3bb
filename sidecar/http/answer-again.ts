import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { SteadyClock } from "../../shared/clock.ts";
import type { SidecarMetrics } from "../metrics.ts";
import type { CredentialRoutePorts } from "./credential-routes.ts";
import { checkRequest, type RequestCheckPorts } from "./request-check.ts";
import { writeCredentials } from "./respond.ts";

export interface AnswerPorts extends RequestCheckPorts, Pick<CredentialRoutePorts, "requests" | "issuer"> {
  readonly clock: SteadyClock;
  readonly metrics: Pick<SidecarMetrics, "requests" | "requestDuration">;
  /** Whether the server must reject the requests of a connection. */
  readonly isExcess: (socket: Socket) => boolean;
}

/**
 * Answers a request for credentials of a role that a request with the same path has received, and that are still
 * cached, in one step and without the framework. Otherwise, returns false, and the framework serves the request. The
 * framework alone takes more processor time than this answer: docs/decisions/0016-answers-without-the-framework.md
 */
export function answerAgain(request: IncomingMessage, response: ServerResponse, ports: AnswerPorts): boolean {
  const { requests, issuer, clock, metrics } = ports;
  const startMs = clock.steady();
  const known = requests.get(request.url ?? "");
  if (known?.grant.verdict !== "role" || !isAllowed(request, ports)) return false;
  const credentials = issuer.issueAgain(known.grant, known);
  if (credentials === null) return false;
  writeCredentials(response, credentials, clock.now());
  observe(metrics, { path: known.route, code: 200 }, clock.steady() - startMs);
  return true;
}

/** The framework repeats the check of a request that is not allowed, and rejects the request. */
function isAllowed(request: IncomingMessage, ports: AnswerPorts): boolean {
  if (ports.isExcess(request.socket)) return false;
  try {
    checkRequest(request, ports);
    return true;
  } catch {
    return false;
  }
}

/** Counts a response. */
export function observe(
  { requests, requestDuration }: AnswerPorts["metrics"], labels: { readonly path: string; readonly code: number },
  elapsedMs: number,
): void {
  requests.inc(labels);
  requestDuration.observe({ path: labels.path }, elapsedMs / 1000);
}
