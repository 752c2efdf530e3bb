import { printable } from "../../shared/decisions/kubernetes/text.ts";

/** STS's query protocol on the wire: https://docs.aws.amazon.com/STS/latest/APIReference/welcome.html */
const NAMESPACE = "https://sts.amazonaws.com/doc/2011-06-15/";

/** An element's content: its text, or its children in order. A child that is undefined is left out. */
export type Content = string | { readonly [name: string]: Content | undefined };

/** A refusal as STS words it: `code` and the HTTP status that goes with it. */
export class STSErrorResponse extends Error {
  readonly code: string;
  readonly status: number;
  constructor(code: string, status: number, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "STSRefusal";
    this.code = code;
    this.status = status;
  }
}

/** `<AssumeRoleResponse>` with its `<AssumeRoleResult>`, and likewise for each action. */
export function renderResult(action: string, result: Content, requestID: string): string {
  return document(`${action}Response`, { [`${action}Result`]: result, ResponseMetadata: { RequestId: requestID } });
}

export function renderRefusal(refusal: STSErrorResponse, requestID: string): string {
  const type = refusal.status < 500 ? "Sender" : "Receiver";
  return document("ErrorResponse", {
    Error: { Type: type, Code: refusal.code, Message: refusal.message },
    RequestId: requestID,
  });
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
  // XML knows no way at all to write most control characters.
  return printable(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
