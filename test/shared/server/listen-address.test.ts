import { once } from "node:events";
import { createServer } from "node:net";
import { test } from "tap";
import { ResolverError } from "../../../shared/formats/errors.ts";
import {
  boundAddress, formatListenAddress, isLoopbackHost, parseListenAddress, startListening,
} from "../../../shared/server/listen-address.ts";

test("parses and formats listen addresses", (t) => {
  for (const text of ["127.0.0.1:9443", "0.0.0.0:0", "[::]:9443", "[::1]:65535", "localhost:80", "a-b.example:1"]) {
    t.equal(formatListenAddress(parseListenAddress(text, "--listen")), text);
  }
  t.same(parseListenAddress("[::1]:9443", "--listen"), { host: "::1", port: 9443 });
  t.end();
});

test("rejects an invalid listen address, and names the flag, the value and the expected form", (t) => {
  for (const text of [
    "", "9443", ":9443", "::1:9443", "[::1]", "[127.0.0.1]:1", "h:65536", "h:-1", "h:", "h:1x", "http://h:1", "-h:1",
    "h :1",
  ]) {
    t.throws(() => parseListenAddress(text, "--health-listen"), {
      code: "ERR_CONFIG_ADDRESS",
      message:
        `--health-listen: ${JSON.stringify(text)} is not a listen address; ` +
        "expected HOST:PORT with a port from 0 to 65535, such as 127.0.0.1:9443 or [::]:9443",
    });
  }
  t.end();
});

test("recognizes only 127.0.0.0/8, ::1 and localhost as loopback, not similar names", (t) => {
  for (const host of ["127.0.0.1", "127.1.2.3", "::1", "localhost", "LOCALHOST"])
    t.equal(isLoopbackHost(host), true, host);
  for (const host of ["0.0.0.0", "::", "127.0.0.1.example.com", "localhost.example.com", "128.0.0.1", "127.1"]) {
    t.equal(isLoopbackHost(host), false, host);
  }
  t.end();
});

test("rejects a port that is in use, and names the flag and the address", async (t) => {
  const taken = createServer().listen(0, "127.0.0.1");
  await once(taken, "listening");
  t.teardown(() => taken.close());
  const address = boundAddress(taken);
  const second = createServer();
  const start = async (): Promise<void> => {
    second.listen(address.port, address.host);
    await once(second, "listening");
  };
  await t.rejects(startListening("--listen", address, start), {
    code: "ERR_CONFIG_PORT_IN_USE",
    message:
      `--listen 127.0.0.1:${address.port}: the port is in use by another process; ` +
      "stop that process or set --listen to another address",
  });
});

function failing(code: string): () => Promise<void> {
  return () => Promise.reject(Object.assign(new Error("listen"), { code }));
}

test("rejects an address that is not assigned to this machine, and passes other errors through", async (t) => {
  const address = { host: "192.0.2.1", port: 1 };
  await t.rejects(startListening("--listen", address, failing("EADDRNOTAVAIL")), {
    code: "ERR_CONFIG_ADDRESS",
    message: "--listen 192.0.2.1:1: the address is not assigned to this machine; set --listen to another address",
  });
  const odd = await startListening("--listen", address, failing("EODD")).catch((error: unknown) => error);
  t.match(odd, { message: "listen", code: "EODD" });
  t.notOk(odd instanceof ResolverError);
  t.equal(await startListening("--listen", address, () => Promise.resolve(7)), 7);
});

test("throws an error if the server does not listen", (t) => {
  t.throws(() => boundAddress(createServer()), { message: "the server does not listen on TCP" });
  t.end();
});
