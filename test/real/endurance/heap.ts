import { once } from "node:events";
import { field, isJsonObject } from "../../../shared/formats/json.ts";
import { get } from "../../loopback-request.ts";

/** Returns the environment variable with which a Node.js process opens its inspector on a loopback port. */
export function inspectorEnvironment(port: number): Readonly<Record<string, string>> {
  return { NODE_OPTIONS: `--inspect=127.0.0.1:${port}` };
}

/** The heap of a Node.js process, read over the Chrome DevTools protocol. */
export class ProcessHeap {
  readonly #socket: WebSocket;
  #lastID = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
  }

  static async connect(port: number): Promise<ProcessHeap> {
    const targets: unknown = JSON.parse((await get(`http://127.0.0.1:${port}/json/list`)).body);
    const [target] = Array.isArray(targets) ? targets.filter(isJsonObject) : [];
    const socket = new WebSocket(String(target?.["webSocketDebuggerUrl"]));
    await once(socket, "open");
    return new ProcessHeap(socket);
  }

  /** Collects garbage and returns the bytes of all live objects. */
  async liveBytes(): Promise<number> {
    // The second collection frees what finalizers of the first one released.
    await this.#call("HeapProfiler.collectGarbage");
    await this.#call("HeapProfiler.collectGarbage");
    return Number(field(await this.#call("Runtime.getHeapUsage"), "usedSize"));
  }

  close(): void {
    this.#socket.close();
  }

  async #call(method: string): Promise<unknown> {
    const id = ++this.#lastID;
    this.#socket.send(JSON.stringify({ id, method }));
    for (;;) {
      const message: unknown = JSON.parse(await this.#nextMessage());
      if (field(message, "id") === id) return field(message, "result");
    }
  }

  async #nextMessage(): Promise<string> {
    const { promise, resolve } = Promise.withResolvers<string>();
    this.#socket.addEventListener("message", ({ data }) => resolve(String(data)), { once: true });
    return promise;
  }
}
