import { Readable } from "node:stream";
import { isJsonObject, type JsonObject, parseJSON } from "../../shared/formats/json.ts";
import type {
  KubernetesAPI, KubernetesRequest, KubernetesResponse,
} from "../../shared/api/api.ts";
import type { FakeClock } from "./fake-clock.ts";
import { tokenOf } from "./capa/token-server.ts";

/** An API server that lists objects, issues tokens of ServiceAccounts, and stores the Events that it receives. */
export class EventServer implements KubernetesAPI {
  readonly events: JsonObject[] = [];
  readonly requests: KubernetesRequest[] = [];
  /** The pages of each list, by path; null if the list is not allowed. A missing list is empty. */
  readonly pages: Record<string, readonly (readonly JsonObject[])[] | null> = {};
  eventStatus = 201;

  async request(request: KubernetesRequest): Promise<KubernetesResponse> {
    this.requests.push(request);
    if (request.method !== "POST") return this.#list(request);
    if (request.path.endsWith("/token")) return respond(201, { status: { token: tokenOf(this.requests.length) } });
    const event = parseJSON(request.body ?? "");
    if (isJsonObject(event) && this.eventStatus === 201) this.events.push(event);
    return respond(this.eventStatus, {});
  }

  #list({ path, accept = "" }: KubernetesRequest): KubernetesResponse {
    const { pathname, searchParams } = new URL(path, "http://localhost");
    const pages = this.pages[pathname];
    if (pages === null) return respond(403, { reason: "Forbidden" });
    const page = Number(searchParams.get("continue") ?? 0);
    const isLast = page + 1 >= (pages?.length ?? 0);
    const isMetadataOnly = accept.includes("PartialObjectMetadataList");
    const items = (pages?.[page] ?? []).map(({ metadata, spec }) => (
      { metadata: { resourceVersion: "1", ...objectOf(metadata) }, ...(!isMetadataOnly && { spec }) }
    ));
    return respond(200, { metadata: { resourceVersion: "1", continue: isLast ? "" : String(page + 1) }, items });
  }
}

function objectOf(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}

function respond(status: number, body: object): KubernetesResponse {
  return { status, headers: {}, body: Readable.from([Buffer.from(JSON.stringify(body))]) };
}

/** Lets the fake time pass in steps of one second, so that one Event can be written in each step. */
export async function settle(clock: FakeClock, seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second += 1) await clock.advance(1_000);
}
