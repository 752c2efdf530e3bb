import { isJsonObject, type JsonObject, parseJSON, stringAt } from "../formats/json.ts";
import { type Clock, withTimeout } from "../clock.ts";
import { bodyText, type KubernetesAPI, type KubernetesRequest, limitedAPI } from "./api.ts";

/** The default timeout of one request, in ms. Three requests in sequence must fit in the time limit of a stop, 10 s. */
const CALL_MS = 3_000;

export interface SendPorts {
  readonly api: KubernetesAPI;
  readonly clock: Pick<Clock, "schedule">;
}

/** The response of the API server to a request for one object. */
export interface ObjectResponse {
  readonly status: number;
  /** The object, or the Status object of an error. Null if the body is not a JSON object. */
  readonly object: JsonObject | null;
}

interface SendLimits {
  readonly timeoutMs?: number;
  /** Default: no limit. */
  readonly maxBytes?: number;
  /** Aborts the request, which then rejects. */
  readonly signal?: AbortSignal;
}

/**
 * Sends a request for one object. Rejects if the API server does not respond within `timeoutMs`, or with BodyTooLarge
 * if the response has more than `maxBytes` bytes.
 */
export async function sendRequest(
  { api, clock }: SendPorts, request: Omit<KubernetesRequest, "signal">,
  { timeoutMs = CALL_MS, maxBytes = Infinity, signal }: SendLimits = {},
): Promise<ObjectResponse> {
  const abort = new AbortController();
  const signals = AbortSignal.any([abort.signal, ...(signal === undefined ? [] : [signal])]);
  const response = responseTo(limitedAPI(api, maxBytes), { ...request, signal: signals });
  return await withTimeout(clock, timeoutMs, response, () => {
    abort.abort();
    const { method = "GET", path } = request;
    return new Error(`${method} ${path}: no response within ${timeoutMs / 1000} s`);
  });
}

async function responseTo(api: KubernetesAPI, request: KubernetesRequest): Promise<ObjectResponse> {
  const response = await api.request(request);
  const object = parseJSON(await bodyText(response));
  return { status: response.status, object: isJsonObject(object) ? object : null };
}

/** Returns what is wrong with a request that the API server rejected, and how to add rights that are missing. */
export function rejectionText(request: RequestName, response: ObjectResponse): string {
  const { status } = response;
  const fix = status === 403 || status === 404 ? "; apply the objects of `ack-role-resolver manifests rbac`" : "";
  return `${responseText(request, response)}${fix}`;
}

type RequestName = Pick<KubernetesRequest, "method" | "path">;

/**
 * Returns the status with which the API server rejected a request. Contains the reason of the Status object, but not
 * its message, which can quote the request.
 */
export function responseText({ method = "GET", path }: RequestName, { status, object }: ObjectResponse): string {
  const reason = stringAt(object, "reason") ?? "no reason";
  return `${method} ${path.split("?", 1)[0] ?? ""}: the API server returned ${status} (${reason})`;
}
