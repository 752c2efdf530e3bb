import type { FastifyReply } from "fastify";
import type { CredentialRoutePorts } from "./credential-routes.ts";
import { writeCredentials } from "./respond.ts";

/**
 * Answers a checked request for credentials of a role that a request with the same path has received, and that are
 * still cached, in one step. Otherwise, returns false, and the route serves the request. Writes past the reply of
 * fastify: docs/decisions/0016-answers-without-waiting.md
 */
export function answerAgain(
  reply: FastifyReply, { requests, issuer, clock }: Pick<CredentialRoutePorts, "requests" | "issuer" | "clock">,
): boolean {
  const known = requests.get(reply.request.url);
  if (known?.grant.verdict !== "role") return false;
  const credentials = issuer.issueAgain(known.grant, known);
  if (credentials === null) return false;
  reply.hijack();
  writeCredentials(reply.raw, credentials, clock.now());
  return true;
}
