import type { IncomingMessage, ServerResponse } from "node:http";
import type { SteadyClock } from "../../shared/core/clock.ts";
import type { SidecarMetrics } from "../metrics.ts";
import type { CredentialRoutePorts } from "./credential-routes.ts";
import { faultOfRequest, type RequestCheckPorts } from "./request-check.ts";
import { writeCredentials } from "./respond.ts";

interface AnswerPorts extends Pick<CredentialRoutePorts, "requests" | "issuer">, RequestCheckPorts {
  readonly clock: SteadyClock;
  readonly metrics: SidecarMetrics;
}

/**
 * Answers a request for credentials of a role that a request with the same path has received, and that are still
 * cached, in one step and in front of the framework. Otherwise, returns false, and the framework serves or rejects the
 * request: docs/decisions/0016-answers-without-waiting.md
 */
export function answerAgain(request: IncomingMessage, response: ServerResponse, ports: AnswerPorts): boolean {
  const { requests, issuer, clock, metrics } = ports;
  const startMs = clock.steady();
  const known = requests.get(request.url ?? "");
  if (known?.grant.verdict !== "role" || faultOfRequest(request, ports) !== null) return false;
  const credentials = issuer.issueAgain(known.grant, known);
  if (credentials === null) return false;
  writeCredentials(response, credentials, clock.now());
  metrics.responses.observe({ path: known.path, code: 200 }, (clock.steady() - startMs) / 1000);
  return true;
}
