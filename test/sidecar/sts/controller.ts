import { ROLE_A, type Setup, SidecarUnderTest } from "../sidecar-under-test.ts";
import { assumeBody, send, signed, type STSAnswer, type VendedKeys } from "./signed-request.ts";

/** A controller that signs AssumeRole requests with its base credentials. */
export class Controller {
  readonly sidecar: SidecarUnderTest;
  #keys: VendedKeys | null = null;

  constructor(setup: Setup = {}) {
    this.sidecar = new SidecarUnderTest(setup);
  }

  async assume(parameters: Readonly<Record<string, string>> = {}): Promise<STSAnswer> {
    this.#keys ??= (await this.sidecar.get("/v1/credentials")).json<VendedKeys>();
    return this.assumeWith(this.#keys, parameters);
  }

  async assumeWith(
    keys: VendedKeys, parameters: Readonly<Record<string, string>> = {}, region?: string,
  ): Promise<STSAnswer> {
    const body = assumeBody({ RoleArn: ROLE_A, ...parameters });
    const request = { keys, body, now: this.sidecar.clock.now(), ...(region !== undefined && { region }) };
    return send(this.sidecar.app, await signed(request));
  }
}
