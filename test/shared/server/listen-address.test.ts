import { once } from "node:events";
import { createServer } from "node:net";
import { test } from "tap";
import { ResolverError } from "../../../shared/decisions/errors.ts";
import {
  boundAddress, formatListenAddress, isLoopbackHost, listening, parseListenAddress,
} from "../../../shared/server/listen-address.ts";

test("an address is read and written back the same", (t) => {
  for (const text of ["127.0.0.1:9443", "0.0.0.0:0", "[::]:9443", "[::1]:65535", "localhost:80", "a-b.example:1"]) {
    t.equal(formatListenAddress(parseListenAddress(text, "--listen")), text);
  }
  t.same(parseListenAddress("[::1]:9443", "--listen"), { host: "::1", port: 9443 });
  t.end();
});

test("anything else is refused with the flag, what was given and what is expected", (t) => {
  for (const text of ["", "9443", ":9443", "::1:9443", "[::1]", "[127.0.0.1]:1", "h:65536", "h:-1", "h:", "h:1x", "http://h:1", "-h:1", "h :1"]) {
    t.throws(() => parseListenAddress(text, "--health-listen"), {
      code: "ERR_CONFIG_ADDRESS",
      message:
        `--health-listen: ${JSON.stringify(text)} is no address to listen on; expected HOST:PORT with a port from 0 to 65535, ` +
        "such as 127.0.0.1:9443 or [::]:9443",
    });
  }
  t.end();
});

test("loopback is 127.0.0.0/8, ::1 and localhost, and nothing that looks like them", (t) => {
  for (const host of ["127.0.0.1", "127.1.2.3", "::1", "localhost", "LOCALHOST"]) t.equal(isLoopbackHost(host), true, host);
  for (const host of ["0.0.0.0", "::", "127.0.0.1.example.com", "localhost.example.com", "128.0.0.1", "127.1"]) {
    t.equal(isLoopbackHost(host), false, host);
  }
  t.end();
});

test("a taken port names the flag and the address", async (t) => {
  const taken = createServer().listen(0, "127.0.0.1");
  await once(taken, "listening");
  t.teardown(() => taken.close());
  const address = boundAddress(taken);
  const second = createServer();
  const start = async (): Promise<void> => {
    second.listen(address.port, address.host);
    await once(second, "listening");
  };
  await t.rejects(listening("--listen", address, start), {
    code: "ERR_CONFIG_PORT_IN_USE",
    message:
      `--listen 127.0.0.1:${address.port}: the port is in use by another process; ` +
      "stop that process or give another address with --listen",
  });
});

function failing(code: string): () => Promise<void> {
  return () => Promise.reject(Object.assign(new Error("listen"), { code }));
}

test("an address that this machine lacks is said to be so; other errors pass as they are", async (t) => {
  const address = { host: "192.0.2.1", port: 1 };
  await t.rejects(listening("--listen", address, failing("EADDRNOTAVAIL")), {
    code: "ERR_CONFIG_ADDRESS",
    message: "--listen 192.0.2.1:1: this machine has no such address; give another address with --listen",
  });
  const odd = await listening("--listen", address, failing("EODD")).catch((error: unknown) => error);
  t.match(odd, { message: "listen", code: "EODD" });
  t.notOk(odd instanceof ResolverError);
  t.equal(await listening("--listen", address, () => Promise.resolve(7)), 7);
});

test("a server that does not listen has no address", (t) => {
  t.throws(() => boundAddress(createServer()), { message: "the server does not listen on TCP" });
  t.end();
});
