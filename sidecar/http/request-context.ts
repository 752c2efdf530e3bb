import type { FastifyInstance } from "fastify";
import type { Grant } from "../../shared/decisions/grants/grant.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** The requested credentials, for the rejection log, without secrets. Null until the client is authenticated. */
    requested: Readonly<Record<string, unknown>> | null;
    /** The decision on the request; null until it is made. */
    grant: Grant | null;
  }
}

/** Adds the properties that the routes set and the rejection log reads. */
export function decorateRequests(app: FastifyInstance): void {
  app.decorateRequest("requested", null);
  app.decorateRequest("grant", null);
}
