import { test } from "tap";
import { type ErrorCode, ERRORS, ResolverError } from "../../../shared/decisions/errors.ts";

test("each code is named by its area, and has a status, a meaning and a reason to retry only where that can help", (t) => {
  for (const [code, { status, retry, meaning }] of Object.entries(ERRORS)) {
    t.match(code, /^ERR_[A-Z]+(_[A-Z]+)*$/);
    t.ok(Number.isInteger(status) && status >= 400 && status <= 503 && status !== 429, `${code}: ${status}`);
    t.match(meaning, /^[A-Z].*\.$/, `${code} means a sentence`);
    t.equal(retry, status === 503 || code === "ERR_INTERNAL", `${code}: retry`);
  }
  t.end();
});

test("an error of the catalogue carries its code, its status, the text for the user and its cause", (t) => {
  const cause = new Error("underneath");
  const error = new ResolverError("ERR_SELECTOR_CONFLICT", "a and b", { cause });
  t.match(error, { name: "ResolverError", code: "ERR_SELECTOR_CONFLICT", status: 409, message: "a and b", cause });
  t.ok(error instanceof Error);
  const codes: readonly ErrorCode[] = ["ERR_NOT_READY", "ERR_TOKEN_INVALID", "ERR_CONFIG_INVALID"];
  t.same(codes.map((code) => new ResolverError(code, "").status), [503, 401, 500]);
  t.end();
});
