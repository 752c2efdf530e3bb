import type { FastifyInstance } from "fastify";
import type { Grant } from "../../shared/decisions/grants/grant.ts";

declare module "fastify" {
  interface FastifyRequest {
    /**
     * The requested credentials, for the rejection log, without secrets. Undefined until the client is authenticated.
     */
    requested: Readonly<Record<string, unknown>> | undefined;
    /** The decision on the request; undefined until it is made. */
    grant: Grant | undefined;
  }
}

/** Declares the properties that the routes set and the rejection log reads. */
export function decorateRequests(app: FastifyInstance): void {
  app.decorateRequest("requested", undefined);
  app.decorateRequest("grant", undefined);
}
