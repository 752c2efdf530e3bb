import { printable } from "../../shared/decisions/kubernetes/text.ts";

/** The XML namespace of the STS query protocol: https://docs.aws.amazon.com/STS/latest/APIReference/welcome.html */
const NAMESPACE = "https://sts.amazonaws.com/doc/2011-06-15/";

/** The content of an element: its text, or its children in order. Undefined children are omitted. */
export type Content = string | { readonly [name: string]: Content | undefined };

/** An STS error: its code, HTTP status and message. */
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
  // XML 1.0 cannot represent most control characters, not even escaped.
  return printable(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
