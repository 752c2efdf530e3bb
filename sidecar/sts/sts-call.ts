import { BoundedMap } from "../../shared/server/bounded-map.ts";
import { type AssumeRoleForm, readAssumeRole } from "./assume-role-form.ts";
import { readForm, STSErrorResponse } from "./query-protocol.ts";

/** What the body of a request asks for. */
export interface STSCall {
  readonly body: string;
  readonly form: URLSearchParams;
  readonly action: string;
  /** Returns the parameters of AssumeRole. Throws if they are not valid. */
  readonly requested: () => AssumeRoleForm;
}

/** The maximum number of remembered calls, and of the bytes of each. */
const LIMIT = { calls: 2_000, bytes: 1_024 } as const;

/** Reads calls. Controllers send the same few again and again, so each is read only once. */
export class STSCalls {
  readonly #known = new BoundedMap<string, STSCall>(LIMIT.calls);

  /** Throws the error that STS would return for a body that is not a form with an action. */
  read(bytes: Buffer): STSCall {
    const body = bytes.toString("latin1");
    return this.#known.get(body) ?? readCall(body, readForm(bytes));
  }

  /** Remembers a call whose signature is valid, so that no other client can use up the room. */
  remember(call: STSCall): void {
    if (call.body.length <= LIMIT.bytes && !this.#known.has(call.body)) this.#known.set(call.body, call);
  }
}

function readCall(body: string, form: URLSearchParams): STSCall {
  let read: AssumeRoleForm | null = null;
  return { body, form, action: actionOf(form), requested: () => (read ??= readAssumeRole(form)) };
}

/** The actions that clients call without credentials. */
const UNSIGNED_ACTIONS: ReadonlySet<string> = new Set(["AssumeRoleWithWebIdentity"]);

function actionOf(form: URLSearchParams): string {
  const action = form.get("Action") ?? "";
  if (action === "") throw new STSErrorResponse("MissingAction", 400, "The form body has no Action parameter.");
  if (!UNSIGNED_ACTIONS.has(action)) return action;
  const fix = "Remove AWS_ROLE_ARN and AWS_WEB_IDENTITY_TOKEN_FILE from the controller's container.";
  throw new STSErrorResponse("AccessDenied", 403, `The sidecar does not support ${action}. ${fix}`);
}
