import { test } from "tap";
import { closuresOf, missingFlags, tightest } from "../../../shared/core/closures.ts";
import { injectionSettings } from "../../../shared/core/sidecar-settings.ts";
import { readSettings } from "../../../shared/server/read-settings.ts";
import { testRows } from "../rows.ts";

type Texts = Partial<Parameters<typeof closuresOf>[0]>;

/** Returns the flags that a sidecar with these settings lacks to close everything. */
function open(texts: Texts): readonly string[] {
  const all = { profile: undefined, base: undefined, unmatched: undefined, ...texts };
  return missingFlags({ base: true, unmatched: true }, closuresOf(all));
}

testRows("what a profile and the flags leave open", open, [
  ["observe", { profile: "observe" }, "--base=identity-only", "--unmatched=deny"],
  ["enforce", { profile: "enforce" }, "--base=identity-only", "--unmatched=deny"],
  ["strict", { profile: "strict" }],
  ["a flag wins over the profile", { profile: "strict", base: "vend" }, "--base=identity-only"],
  ["the other flag", { profile: "strict", unmatched: "base" }, "--unmatched=deny"],
  ["flags close", { profile: "enforce", base: "identity-only", unmatched: "deny" }],
  ["an unknown profile closes", { profile: "paranoid" }],
  ["no profile closes", {}],
  ["an unknown value closes", { profile: "enforce", base: "none", unmatched: "" }],
]);

test("what two sources close together, and what is not required", (t) => {
  const [base, unmatched] = [{ base: true, unmatched: false }, { base: false, unmatched: true }];
  t.same(tightest(base, unmatched), { base: true, unmatched: true });
  t.same(missingFlags(base, unmatched), ["--base=identity-only"]);
  t.same(missingFlags({ base: false, unmatched: false }, { base: false, unmatched: false }), []);
  t.end();
});

/** Returns what the sidecars of a webhook with these flags must close. */
function required(flags: Readonly<Record<string, string | readonly string[]>>): string[] {
  const settings = readSettings("webhook", { cluster: true, tlsDir: "tls", ...flags }, {});
  const { base, unmatched } = injectionSettings(settings).closures;
  return [...(base ? ["base"] : []), ...(unmatched ? ["unmatched"] : [])];
}

testRows("what the webhook requires of all sidecars", required, [
  ["enforce", {}],
  ["strict", { profile: "strict" }, "base", "unmatched"],
  ["flags of sidecars", { sidecarImage: "r", sidecarArgs: ["--base=vend", "--base=identity-only"] }, "base"],
  ["an exception", { profile: "strict", sidecarImage: "r", sidecarArgs: ["--base=vend"] }, "unmatched"],
  ["a profile of their own", { sidecarImage: "r", sidecarArgs: ["--profile=strict"] }, "base", "unmatched"],
]);
