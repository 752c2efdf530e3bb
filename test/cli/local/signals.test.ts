import { spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { createInterface } from "node:readline";
import { test } from "tap";

const ROOT = path.join(import.meta.dirname, "../../..");
const FREE_PORTS = ["--listen", "127.0.0.1:0"];

test("local mode handles SIGINT before it prints how to stop the servers", async (t) => {
  // Prints whether the program added a handler of SIGINT before it wrote the last line.
  const preload = `
    const before = process.listenerCount("SIGINT");
    const write = process.stdout.write.bind(process.stdout);
    process.stdout.write = (text) => {
      if (text.includes("Press Ctrl-C")) write("handled: " + (process.listenerCount("SIGINT") > before) + "\\n");
      return write(text);
    };
  `;
  const url = `data:text/javascript,${encodeURIComponent(preload)}`;
  const argv = ["--import", url, path.join(ROOT, "cli/main.ts"), "local", ...FREE_PORTS];
  const child = spawn(process.execPath, argv, { env: {}, cwd: ROOT, stdio: ["ignore", "pipe", "ignore"] });
  const ended = once(child, "exit");
  t.teardown(async () => {
    child.kill();
    await ended;
  });
  const lines: string[] = [];
  for await (const line of createInterface(child.stdout)) {
    lines.push(line);
    if (line.includes("Press Ctrl-C")) break;
  }
  t.same(lines.filter((line) => line.startsWith("handled: ")), ["handled: true"]);
});
