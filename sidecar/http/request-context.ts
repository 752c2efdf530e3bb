import type { FastifyRequest } from "fastify";
import type { Grant } from "../../shared/decisions/grants/grant.ts";

/** What has been found out of a request, for the log of a refusal. */
export interface RequestNotes {
  /** What it asks for, without a secret; null until it is believed. */
  asked: Readonly<Record<string, unknown>> | null;
  grant: Grant | null;
}

const notes = new WeakMap<FastifyRequest, RequestNotes>();

export function notesOf(request: FastifyRequest): RequestNotes {
  const known = notes.get(request) ?? { asked: null, grant: null };
  notes.set(request, known);
  return known;
}
