import { test } from "tap";
import manifest from "../package.json" with { type: "json" };

const SCRIPTS = new Map(Object.entries(manifest.scripts));

// Without `tap build`, tap loads a TypeScript plugin that this project does not use, and each test file fails.
test("each npm script that runs tap builds it first, so that the script runs in a new clone", async (t) => {
  const runsTap = /(^|\s)tap\s|test\/unit\.ts/;
  const runners = [...SCRIPTS].filter(([name, command]) => !name.startsWith("pre") && runsTap.test(command));
  t.same(runners.map(([name]) => name), ["test", "endurance", "test:unit", "test:watch", "test:cluster"]);
  for (const [name] of runners) t.match(SCRIPTS.get(`pre${name}`) ?? "", /^tap build($| && )/, name);
});

test("each npm script that sets up programs runs test/programs/setup.ts", async (t) => {
  const scripts = [...SCRIPTS].filter(([name]) => name.startsWith("setup:"));
  t.ok(scripts.length > 5);
  for (const [name, command] of scripts) t.match(command, /^node test\/programs\/setup\.ts [\w -]+$/, name);
  t.match(SCRIPTS.get("pretest"), / && node test\/programs\/setup\.ts --if-ci [\w -]+$/);
});
