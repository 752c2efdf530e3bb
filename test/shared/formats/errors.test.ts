import { test } from "tap";
import type { ErrorEntry } from "../../../shared/formats/error-entry.ts";
import { type ErrorCode, errorMessage, ERRORS, ResolverError } from "../../../shared/formats/errors.ts";

test("each error code has a valid name and texts; only 503 and internal errors are retryable", (t) => {
  for (const [code, { status, retry, meaning, example, fix }] of Object.entries<ErrorEntry>(ERRORS)) {
    t.match(code, /^ERR_[A-Z]+(_[A-Z]+)*$/);
    t.ok(Number.isInteger(status) && status >= 400 && status <= 503 && status !== 429, `${code}: ${status}`);
    t.match(meaning, /^[A-Z].*\.$/, `${code}: meaning`);
    t.match(example, /^\S.*[^;:,\s]$/, `${code}: example`);
    t.match(fix, /^[a-z].*[^.;:,\s]$/, `${code}: fix`);
    t.equal(retry, status === 503 || code === "ERR_INTERNAL", `${code}: retry`);
  }
  t.end();
});

test("ResolverError exposes its code, status, message and cause", (t) => {
  const cause = new Error("cause");
  const error = new ResolverError("ERR_SELECTOR_CONFLICT", "a and b", { cause });
  t.match(error, { name: "ResolverError", code: "ERR_SELECTOR_CONFLICT", status: 409, message: "a and b", cause });
  t.ok(error instanceof Error);
  const codes: readonly ErrorCode[] = ["ERR_NOT_READY", "ERR_TOKEN_INVALID", "ERR_CONFIG_INVALID"];
  t.same(codes.map((code) => new ResolverError(code, "").status), [503, 401, 500]);
  t.end();
});

test("errorMessage returns the message of an error, and any other thrown value as text", (t) => {
  t.equal(errorMessage(new ResolverError("ERR_NOT_READY", "not loaded")), "not loaded");
  t.equal(errorMessage("reset"), "reset");
  t.end();
});
