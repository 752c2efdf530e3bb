import { printable } from "../../shared/formats/text.ts";
import { LIMITS } from "../../shared/core/limits.ts";

/** The XML namespace of the STS query protocol: https://docs.aws.amazon.com/STS/latest/APIReference/welcome.html */
const NAMESPACE = "https://sts.amazonaws.com/doc/2011-06-15/";

/** The content of an XML element: its text, or its child elements in order. Children that are undefined are omitted. */
export type Content = string | { readonly [name: string]: Content | undefined };

/** An error response in the format of STS. */
export class STSErrorResponse extends Error {
  readonly code: string;
  readonly status: number;
  constructor(code: string, status: number, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "STSErrorResponse";
    this.code = code;
    this.status = status;
  }
}

/** Returns the XML document of a result, such as `<AssumeRoleResponse>` with its `<AssumeRoleResult>`. */
export function renderResult(action: string, result: Content, requestID: string): string {
  return document(`${action}Response`, { [`${action}Result`]: result, ResponseMetadata: { RequestId: requestID } });
}

export function renderError({ code, status, message }: STSErrorResponse, requestID: string): string {
  const type = status < 500 ? "Sender" : "Receiver";
  return document("ErrorResponse", { Error: { Type: type, Code: code, Message: message }, RequestId: requestID });
}

function document(root: string, content: Content): string {
  return `<${root} xmlns="${NAMESPACE}">\n${render(content, "  ")}</${root}>\n`;
}

function render(content: Content, indent: string): string {
  if (typeof content === "string") return escape(content);
  let text = "";
  for (const [name, child] of Object.entries(content)) {
    if (child === undefined) continue;
    const inner = typeof child === "string" ? escape(child) : `\n${render(child, `${indent}  `)}${indent}`;
    text += `${indent}<${name}>${inner}</${name}>\n`;
  }
  return text;
}

function escape(text: string): string {
  // XML 1.0 cannot represent most control characters, even if they are escaped.
  return printable(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

const FORM_TYPE = /^application\/x-www-form-urlencoded(\s*;\s*charset="?utf-8"?)?$/i;
const MESSAGE_LIMITS = { faults: 10, characters: 100 } as const;

/** Returns true for the Content-Type of the STS query protocol. botocore adds a charset; other SDKs do not. */
export function isFormType(contentType: string): boolean {
  return FORM_TYPE.test(contentType);
}

/**
 * Returns the parameters of a form body. Throws ValidationError if the body is not UTF-8, has too many parameters or
 * repeats a parameter. Some parsers use the first value of a repeated parameter, and others use the last value.
 */
export function readForm(body: Buffer): URLSearchParams {
  const form = new URLSearchParams(decode(body));
  const { value: limit } = LIMITS.formParameters;
  if (form.size > limit) throw validationError(`The form has ${form.size} parameters (limit: ${limit}).`);
  const [seen, repeated] = [new Set<string>(), new Set<string>()];
  for (const name of form.keys()) (seen.has(name) ? repeated : seen).add(name);
  if (repeated.size > 0) throw validationError(`Repeated parameters: ${joinFaults([...repeated].map(sanitize))}`);
  return form;
}

/** The actions that clients call without credentials. */
const UNSIGNED_ACTIONS: ReadonlySet<string> = new Set(["AssumeRoleWithWebIdentity"]);

/** Returns the action. Throws the error that STS would return if there is none, or if clients call it unsigned. */
export function readAction(form: URLSearchParams): string {
  const action = form.get("Action") ?? "";
  if (action === "") throw new STSErrorResponse("MissingAction", 400, "The form body has no Action parameter.");
  if (!UNSIGNED_ACTIONS.has(action)) return action;
  const fix = "Remove AWS_ROLE_ARN and AWS_WEB_IDENTITY_TOKEN_FILE from the controller's container.";
  throw new STSErrorResponse("AccessDenied", 403, `The sidecar does not support ${action}. ${fix}`);
}

/** Truncates and escapes input of a client, so that a message can quote the input. */
export function sanitize(text: string): string {
  const { characters } = MESSAGE_LIMITS;
  return printable(text.length > characters ? `${text.slice(0, characters)}...` : text);
}

/** Joins the faults to one message, which lists at most 10 faults. */
export function joinFaults(faults: readonly string[]): string {
  const more = faults.length - MESSAGE_LIMITS.faults;
  return `${faults.slice(0, MESSAGE_LIMITS.faults).join("; ")}${more > 0 ? `; and ${more} more` : ""}`;
}

export function validationError(message: string): STSErrorResponse {
  return new STSErrorResponse("ValidationError", 400, message);
}

function decode(body: Buffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(body);
  } catch {
    throw validationError("The body is not UTF-8.");
  }
}
