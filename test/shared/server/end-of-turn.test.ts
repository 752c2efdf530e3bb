import { setImmediate } from "node:timers/promises";
import { test } from "tap";
import { EndOfTurn } from "../../../shared/server/end-of-turn.ts";

test("runs the tasks of a turn together, in order, and a task that a task adds in a later turn", async (t) => {
  const ran: string[] = [];
  const turn = new EndOfTurn(() => t.fail("no task throws"));
  turn.add(() => {
    ran.push("a");
    turn.add(() => void ran.push("later"));
  });
  turn.add(() => void ran.push("b"));
  await Promise.resolve();
  t.same(ran, [], "not in the turn itself");
  await setImmediate();
  t.same(ran, ["a", "b"]);
  await setImmediate();
  t.same(ran, ["a", "b", "later"]);
});

test("reports what a task throws, and runs the others", async (t) => {
  const [ran, errors]: [string[], unknown[]] = [[], []];
  const turn = new EndOfTurn((error) => errors.push(error));
  const fault = new Error("broken");
  turn.add(() => { throw fault; });
  turn.add(() => void ran.push("b"));
  await setImmediate();
  t.same([ran, errors], [["b"], [fault]]);
});
