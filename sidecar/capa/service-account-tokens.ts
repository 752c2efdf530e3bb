import { describeIdentity } from "../../shared/core/capa-kinds.ts";
import { ResolverError } from "../../shared/formats/errors.ts";
import type { ServiceAccountIdentity } from "../../shared/capa/identity.ts";
import { isJsonObject, parseJSON, stringAt } from "../../shared/formats/json.ts";
import { LIMITS } from "../../shared/core/limits.ts";
import type { Clock } from "../../shared/core/clock.ts";
import type { KubernetesAPI, KubernetesRequest } from "../../shared/api/api.ts";
import { type ObjectResponse, responseText, sendRequest } from "../../shared/api/send-request.ts";
import { Semaphore } from "../../shared/api/semaphore.ts";
import { DeniedCallerError } from "../sts-upstream/errors.ts";

interface ServiceAccountTokensOptions {
  readonly api: KubernetesAPI;
  readonly clock: Pick<Clock, "schedule">;
  /** Called after each request. `rejected`: the ServiceAccount or the Role of the sidecar is missing. */
  readonly onRequest: (result: "ok" | "rejected" | "failed") => void;
}

/** A token of a ServiceAccount. */
export interface WebIdentityToken {
  /** A JWT, which is a secret. */
  readonly token: string;
  /** The issuer in the token; "" if it is unknown. */
  readonly issuer: string;
}

const REQUEST_LIMITS = { timeoutMs: 2_000, maxBytes: LIMITS.tokenResponseBytes.value } as const;
/** The number of concurrent requests, as for STS. */
const MAX_IN_FLIGHT = 8;
/** STS accepts these lengths: https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRoleWithWebIdentity.html */
const LENGTH = { min: 4, max: 20_000 } as const;

/**
 * Requests tokens of ServiceAccounts from the API server, with the TokenRequest API. Each call requests a new token,
 * and no token is stored: the caller needs a token only for one STS call, about twice an hour.
 */
export class ServiceAccountTokens {
  readonly #options: ServiceAccountTokensOptions;
  readonly #semaphore = new Semaphore(MAX_IN_FLIGHT);

  constructor(options: ServiceAccountTokensOptions) {
    this.#options = options;
  }

  /**
   * Returns a new token of the ServiceAccount that has the name and the namespace of the identity. Rejects with
   * ERR_IDENTITY_TOKEN, or with ERR_CLUSTER_UNREADABLE if a retry may help.
   */
  async request(identity: ServiceAccountIdentity): Promise<WebIdentityToken> {
    const { namespace, name, audiences, expirationSeconds } = identity;
    const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`;
    const spec = { audiences, expirationSeconds };
    const body = JSON.stringify({ apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec });
    const response = await this.#send(identity, { method: "POST", path, body });
    const token = stringAt(response.object, "status", "token") ?? "";
    if (response.status === 201 && token.length >= LENGTH.min && token.length <= LENGTH.max) {
      this.#options.onRequest("ok");
      return { token, issuer: issuerOf(token) };
    }
    const fix = fixFor(identity, response);
    this.#options.onRequest(fix === null ? "failed" : "rejected");
    const rejection = response.status === 201
      ? `POST ${path}: the API server returned no valid token`
      : responseText({ method: "POST", path }, response);
    const message = `${describeIdentity(identity)} has no token. ${rejection}.`;
    if (fix === null) throw new ResolverError("ERR_CLUSTER_UNREADABLE", `${message} Retry the request.`);
    throw new DeniedCallerError("ERR_IDENTITY_TOKEN", `${message} ${fix}`);
  }

  async #send(
    identity: ServiceAccountIdentity, request: Omit<KubernetesRequest, "signal">,
  ): Promise<ObjectResponse> {
    try {
      return await this.#semaphore.run(() => sendRequest(this.#options, request, REQUEST_LIMITS));
    } catch {
      this.#options.onRequest("failed");
      // Omits the error, which could quote the response.
      const message = `${describeIdentity(identity)} has no token. POST ${request.path}: no response.`;
      throw new ResolverError("ERR_CLUSTER_UNREADABLE", `${message} Retry the request.`);
    }
  }
}

/** The name of the Role in docs/cluster-api.md#credentials-for-tools. */
const TOKENS_ROLE = "ack-role-resolver-identity-tokens";

/** Returns how to fix the cause of a rejected request; null if a retry may help. */
function fixFor({ namespace, name }: ServiceAccountIdentity, { status }: ObjectResponse): string | null {
  if (status === 403) {
    return `In the namespace ${namespace}, create the Role ${TOKENS_ROLE}, which allows the verb create on `
      + `serviceaccounts/token with the resourceNames [${name}], and bind it to the service account of the sidecar.`;
  }
  if (status === 404) return `In the namespace ${namespace}, create the ServiceAccount ${name}.`;
  return status === 400 || status === 422 ? "Correct the audiences and expirationSeconds of the identity." : null;
}

function issuerOf(token: string): string {
  const payload = parseJSON(Buffer.from(token.split(".")[1] ?? "", "base64url").toString());
  return isJsonObject(payload) ? stringAt(payload, "iss") ?? "" : "";
}
