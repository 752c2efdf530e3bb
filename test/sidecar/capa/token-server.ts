import type { KubernetesAPI, KubernetesRequest, KubernetesResponse } from "../../../shared/api/api.ts";

/** Every token starts with this prefix. */
export const PLANTED = "planted";

/** Returns a JWT whose parts can be found in a text. */
export function tokenOf(id: number, issuer = "https://oidc.example/cluster"): string {
  const payload = Buffer.from(JSON.stringify({ iss: issuer, jti: `${PLANTED}-${id}` })).toString("base64url");
  return `${PLANTED}-header.${payload}.${PLANTED}-signature-${id}`;
}

/** An API server that issues a different token for each request. */
export class TokenServer {
  readonly requests: KubernetesRequest[] = [];
  /** The status and the reason of an error response; 201 if tokens are issued. */
  status = 201;
  reason = "";
  /** The response of a successful request; null for a new token. */
  token: string | null = null;
  /** Runs before each response. */
  before: () => Promise<void> = async () => {};
  readonly api: KubernetesAPI = { request: (request) => this.#answer(request) };

  /** The paths of the requests. */
  get paths(): string[] {
    return this.requests.map(({ path }) => path);
  }

  async #answer(request: KubernetesRequest): Promise<KubernetesResponse> {
    this.requests.push(request);
    const token = this.token ?? tokenOf(this.requests.length);
    await this.before();
    const error = { reason: this.reason, message: `${PLANTED}: ${token}` };
    const object = this.status === 201 ? { status: { token } } : error;
    return { status: this.status, headers: {}, body: oneChunk(JSON.stringify(object)) };
  }
}

async function* oneChunk(text: string): AsyncGenerator<Buffer> {
  yield Buffer.from(text);
}
