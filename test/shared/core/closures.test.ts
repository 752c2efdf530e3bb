import { test } from "tap";
import {
  ALL_CLOSED, closesAny, closuresOf, missingFlags, NOTHING_CLOSED, tightest,
} from "../../../shared/core/closures.ts";
import { injectionSettings } from "../../../shared/core/sidecar-settings.ts";
import { readSettings } from "../../../shared/server/read-settings.ts";
import { testRows } from "../rows.ts";

type Texts = Partial<Parameters<typeof closuresOf>[0]>;

/** Returns the flags that a sidecar with these settings lacks to close everything. */
function open(texts: Texts): readonly string[] {
  const all = { profile: undefined, base: undefined, unmatched: undefined, sessionScope: undefined, ...texts };
  return missingFlags(ALL_CLOSED, closuresOf(all));
}

const FLAGS = ["--base=identity-only", "--unmatched=deny", "--session-scope=service"];
testRows("what a profile and the flags leave open", open, [
  ["observe", { profile: "observe" }, ...FLAGS],
  ["enforce", { profile: "enforce" }, ...FLAGS],
  ["strict", { profile: "strict" }],
  ["a flag wins over the profile", { profile: "strict", base: "vend" }, "--base=identity-only"],
  ["the other flag", { profile: "strict", unmatched: "base" }, "--unmatched=deny"],
  ["the scope of sessions", { profile: "strict", sessionScope: "none" }, "--session-scope=service"],
  ["flags close", { profile: "enforce", base: "identity-only", unmatched: "deny", sessionScope: "service" }],
  ["an unknown profile closes", { profile: "paranoid" }],
  ["no profile closes", {}],
  ["an unknown value closes", { profile: "enforce", base: "none", unmatched: "", sessionScope: "Service" }],
]);

test("what two sources close together, and what is not required", (t) => {
  const [base, unmatched] = [{ ...NOTHING_CLOSED, base: true }, { ...NOTHING_CLOSED, unmatched: true }];
  t.same(tightest(base, unmatched), { ...ALL_CLOSED, sessionScope: false });
  t.same(missingFlags(base, unmatched), ["--base=identity-only"]);
  t.same(missingFlags(NOTHING_CLOSED, NOTHING_CLOSED), []);
  t.same([NOTHING_CLOSED, base].map(closesAny), [false, true]);
  t.end();
});

/** Returns what the sidecars of a webhook with these flags must close. */
function required(flags: Readonly<Record<string, string | readonly string[]>>): readonly string[] {
  const settings = readSettings("webhook", { cluster: true, tlsDir: "tls", ...flags }, {});
  return missingFlags(injectionSettings(settings).closures, NOTHING_CLOSED);
}

testRows("what the webhook requires of all sidecars", required, [
  ["enforce", {}],
  ["strict", { profile: "strict" }, ...FLAGS],
  ["flags of sidecars", { sidecarImage: "r", sidecarArgs: ["--base=vend", "--base=identity-only"] },
    "--base=identity-only"],
  ["an exception", { profile: "strict", sidecarImage: "r", sidecarArgs: ["--base=vend"] }, ...FLAGS.slice(1)],
  ["a profile of their own", { sidecarImage: "r", sidecarArgs: ["--profile=strict"] }, ...FLAGS],
]);
