import { test } from "tap";
import type { Fault, SelectorCheck } from "../../../../shared/checks/check.ts";
import { SELECTOR_SELF_CHECKS } from "../../../../shared/checks/self-checks.ts";
import { isGrantable } from "../../../../shared/model/selector.ts";

const [CHECK = never()] = SELECTOR_SELF_CHECKS;

function never(): never {
  throw new Error("the catalogue has no self check");
}

function isGrantableWith(overrides: Partial<SelectorCheck>, severity: Pick<Fault, "severity"> = {}): boolean {
  const fault = { path: ["spec"], message: "is wrong", fix: "correct it", ...severity };
  return isGrantable([{ check: { ...CHECK, ...overrides }, fault }]);
}

test("withholds the role of a selector only for a denial that cannot be waived", (t) => {
  t.ok(isGrantableWith({ severity: "deny", waivable: false }, { severity: "warn" }), "the fault only warns");
  t.ok(isGrantable([]));
  t.notOk(isGrantableWith({ severity: "deny", waivable: false }));
  t.ok(isGrantableWith({ severity: "deny", waivable: true }));
  for (const severity of ["warn", "off"] as const) {
    for (const waivable of [true, false]) t.ok(isGrantableWith({ severity, waivable }), `${severity} ${waivable}`);
  }
  t.end();
});
