import { request as httpRequest } from "node:http";
import type { LightMyRequestResponse } from "fastify";
import type { Test } from "tap";
import { boundAddress } from "../../shared/server/listen-address.ts";
import { namespaceObject, selectorObject } from "../shared/objects.ts";
import { HEADERS, ROLE_A, SidecarUnderTest, TEAM_A } from "../sidecar/sidecar-under-test.ts";
import {
  assumeBody, send, signed, type SignedRequest, type Signing, type STSAnswer, type VendedKeys,
} from "../sidecar/sts/signed-request.ts";

export const ASSUME = assumeBody({ RoleArn: ROLE_A });
/** A selector grants this role only to the controller of another API group. */
export const OTHER_ROLE = "arn:aws:iam::222222222222:role/other";
const RDS = selectorObject("rds", {
  arn: OTHER_ROLE,
  namespaceSelector: { names: ["team-a"] },
  resourceTypeSelector: [{ group: "rds.services.k8s.aws" }],
});

interface RawRequest extends Pick<SignedRequest, "headers" | "payload"> {
  readonly method: "GET" | "POST";
}

/** Sends the requests of an attacker in the Pod of a controller. */
export class Attack {
  readonly sidecar: SidecarUnderTest;
  readonly #setup: ConstructorParameters<typeof SidecarUnderTest>[0];

  constructor(
    setup: ConstructorParameters<typeof SidecarUnderTest>[0] = { objects: [namespaceObject("team-a"), TEAM_A, RDS] },
  ) {
    this.#setup = setup;
    this.sidecar = new SidecarUnderTest(setup);
  }

  /** Returns the credentials that the sidecar vends to the controller. */
  async keys(path = "/v1/credentials"): Promise<VendedKeys> {
    return (await this.sidecar.get(path)).json<VendedKeys>();
  }

  async request(signing: Partial<Signing> = {}): Promise<SignedRequest> {
    return signed({ keys: await this.keys(), body: ASSUME, now: this.sidecar.clock.now(), ...signing });
  }

  send(request: Parameters<typeof send>[1]): Promise<STSAnswer> {
    return send(this.sidecar.app, request);
  }

  /** Sends a valid request that `change` modifies, and returns the STS error code of the response. */
  async codeAfter(
    change: (request: SignedRequest) => Partial<SignedRequest>,
    signing: Partial<Signing> = {},
  ): Promise<string> {
    const request = await this.request(signing);
    return (await this.send({ ...request, ...change(request) })).code;
  }

  get(url: string, headers: Readonly<Record<string, string>> = HEADERS): Promise<LightMyRequestResponse> {
    return this.sidecar.get(url, headers);
  }

  /**
   * Returns the status of a request over TCP. Unlike `inject` of fastify, this function does not normalize the path.
   */
  async statusOverTCP(t: Test, path: string, { method, headers, payload }: RawRequest): Promise<number> {
    const { app } = this.sidecar;
    if (app.addresses().length === 0) {
      await app.listen({ host: "127.0.0.1", port: 0 });
      t.teardown(() => app.close());
    }
    const { port } = boundAddress(app.server);
    return new Promise((resolve, reject) => {
      const options = { host: "127.0.0.1", port, path, method, headers, agent: false };
      const sent = httpRequest(options, (response) => resolve(response.resume().statusCode ?? 0));
      sent.on("error", reject).end(payload);
    });
  }

  /** Returns an attack on the sidecar of another Pod, which has its own keys. */
  inOtherPod(): Attack {
    return new Attack(this.#setup);
  }
}

export function withHeaders(
  changed: Readonly<Record<string, string>>,
): (request: SignedRequest) => Partial<SignedRequest> {
  return ({ headers }) => ({ headers: { ...headers, ...changed } });
}
