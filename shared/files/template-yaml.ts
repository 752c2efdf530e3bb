import { type Document, isCollection, isScalar, LineCounter, type Node, Pair, Scalar, visit, YAMLMap } from "yaml";
import { LimitExceeded, yamlDocuments } from "./yaml-documents.ts";
import { AliasBudget, YamlValues } from "./yaml-values.ts";

/** CloudFormation accepts no larger template: 1 MB. */
const MAX_CHARACTERS = 1024 * 1024;
/** A short tag of a function, such as `!Sub`, but no tag of YAML, such as `!!str`. */
const SHORT_TAG = /^!([A-Za-z0-9]+)$/;

/**
 * Returns the value of a CloudFormation template in YAML, with functions in the form that they have in JSON, such as
 * `{"Fn::Sub": "x"}` for `!Sub x`. Throws an Error with the line of the first fault.
 */
export function readTemplateYAML(text: string): unknown {
  const lines = new LineCounter();
  const fail = (offset: number, message: string): never => {
    throw new Error(`line ${Math.max(1, lines.linePos(offset).line)}: ${message}`);
  };
  if (text.length > MAX_CHARACTERS) fail(0, `the template has more than ${MAX_CHARACTERS} characters`);
  try {
    const [document, other] = yamlDocuments(text, lines);
    if (document === undefined) return null;
    if (other !== undefined) fail(other.range[0], "a template is one document; pass one file for each template");
    const [error] = document.errors;
    if (error !== undefined) fail(error.pos[0], `invalid YAML: ${error.message}`);
    replaceTags(document);
    const context = { positions: new WeakMap(), aliases: new AliasBudget(), keepsNumbers: true, fault: fail };
    return new YamlValues(context).read(document.contents);
  } catch (error) {
    if (error instanceof LimitExceeded) return fail(error.offset, error.message);
    if (error instanceof RangeError) return fail(0, "too complex to parse; use several files");
    throw error;
  }
}

function replaceTags(document: Document.Parsed): void {
  visit(document, { Node: (_, node) => (isScalar(node) || isCollection(node) ? replacementOf(node) : undefined) });
}

/** Returns an object that calls the function, or undefined for a node without a short tag. */
function replacementOf(node: Node & { tag?: string; anchor?: string }): YAMLMap | undefined {
  const name = SHORT_TAG.exec(node.tag ?? "")?.[1];
  if (name === undefined) return undefined;
  const key = new Scalar(name === "Ref" || name === "Condition" ? name : `Fn::${name}`);
  key.source = key.value;
  const call = new YAMLMap();
  call.range = node.range ?? null;
  // An alias of the value is an alias of the call.
  if (node.anchor !== undefined) call.anchor = node.anchor;
  delete node.tag;
  delete node.anchor;
  call.items.push(new Pair(key, node));
  return call;
}
