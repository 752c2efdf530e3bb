import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { hashOf } from "../generate/json.ts";

const ACCOUNT = "999988887777";
export const BASE = {
  accessKeyID: "ASIABASE", secretAccessKey: "base-secret", sessionToken: "base-token", expirationMs: null,
};
const VERSION = "2011-06-15";
const HOUR_MS = 3_600_000;

/** The parameters of a call, such as the role, the session name and the tags. */
type Call = Readonly<Record<string, string>>;

/**
 * STS, as far as the sidecar uses it. It grants every role, and derives the access key from the parameters of the call,
 * so that a record can state for which call the sidecar returned credentials.
 */
export class FakeSTS {
  readonly #server: Server;
  readonly #calls = new Map<string, Call>();

  constructor() {
    this.#server = createServer((request, response) => void this.#serve(request, response));
  }

  async start(): Promise<string> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    const address = this.#server.address();
    if (typeof address !== "object" || address === null) throw new Error("the server has no port");
    return `http://127.0.0.1:${address.port}`;
  }

  /** Returns the call that issued the access key; undefined if no call did. */
  callOf(accessKeyID: string): Call | undefined {
    return this.#calls.get(accessKeyID);
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const form = Object.fromEntries(new URLSearchParams(await text(request)));
    response.setHeader("content-type", "text/xml").end(this.#answer(form));
  }

  #answer(form: Call): string {
    const { Action: action = "", Version: version = "", ...call } = form;
    if (version !== VERSION) throw new Error(`STS has no version ${version}`);
    if (action === "GetCallerIdentity") {
      return resultOf(
        action,
        `<Arn>arn:aws:sts::${ACCOUNT}:assumed-role/ack/pod</Arn><UserId>AROA:pod</UserId><Account>${ACCOUNT}</Account>`
      );
    }
    const key = `ASIA${hashOf(call).toUpperCase()}`;
    this.#calls.set(key, call);
    const { RoleArn: arn = "", RoleSessionName: name = "" } = call;
    const [, , , , account, role] = arn.split(":");
    const session = `arn:aws:sts::${account}:assumed-role/${role?.split("/").at(-1)}/${name}`;
    const expiration = new Date(Date.now() + HOUR_MS).toISOString();
    const id = `<AccessKeyId>${key}</AccessKeyId>`;
    const credentials = `${id}<SecretAccessKey>secret</SecretAccessKey><SessionToken>token-${key}</SessionToken>`;
    return resultOf(
      action, `<Credentials>${credentials}<Expiration>${expiration}</Expiration></Credentials>`
        + `<AssumedRoleUser><Arn>${session}</Arn><AssumedRoleId>AROAROLE:${name}</AssumedRoleId></AssumedRoleUser>`,
    );
  }
}

function resultOf(action: string, content: string): string {
  const result = `<${action}Result>${content}</${action}Result>`;
  return `<${action}Response xmlns="https://sts.amazonaws.com/doc/2011-06-15/">${result}</${action}Response>`;
}
