import { test } from "tap";
import { withholdsGrant } from "../../../shared/ack/judge-selector.ts";

test("withholds the role of a selector only for a denial that cannot be waived", (t) => {
  t.notOk(withholdsGrant({ severity: "deny", waivable: false }, { severity: "warn" }), "the fault only warns");
  t.ok(withholdsGrant({ severity: "deny", waivable: false }, {}));
  t.notOk(withholdsGrant({ severity: "deny", waivable: true }, {}));
  for (const severity of ["warn", "off"] as const) {
    for (const waivable of [true, false]) {
      t.notOk(withholdsGrant({ severity, waivable }, {}), `${severity} ${waivable}`);
    }
  }
  t.end();
});
