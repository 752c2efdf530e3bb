import { test } from "tap";
import { checkFault } from "../../../shared/server/check-flag.ts";

test("names the ids that are similar to an unknown id in --check", (t) => {
  for (const [check, fault] of [
    ["IRS-99=off", 'check "IRS-99" does not exist; similar ids: IRS-09 and IRS-19'],
    ["irs-17=warn", 'check "irs-17" does not exist; similar ids: IRS-17'],
    ["everything=off", 'check "everything" does not exist; docs/checks.md lists the ids, such as IRS-03'],
    ["=off", "expected ID=deny, ID=warn or ID=off"],
    ["IRS-17", "expected ID=deny, ID=warn or ID=off"],
    ["IRS-14=OFF", "expected ID=deny, ID=warn or ID=off"],
    ["IRS-17=OFF", "expected ID=deny, ID=warn or ID=off"],
    ["ACK-35=off", "the severity of check ACK-35 is fixed"],
  ] as const) {
    t.equal(checkFault(check), fault);
  }
  t.end();
});
