import { Composer, type Document, Lexer, type LineCounter, Parser } from "yaml";
import { LIMITS } from "../core/limits.ts";
import { MAX_DEPTH, TOO_DEEP } from "./yaml-values.ts";

/** A limit that applies to the whole file. If the file exceeds the limit, the rest of the file is not parsed. */
export class LimitExceeded extends Error {
  readonly offset: number;
  constructor(offset: number, message: string) {
    super(message);
    this.offset = offset;
  }
}

/** The maximum number of documents in a text, and how to read a text that has more. */
export interface DocumentLimit {
  readonly documents: number;
  readonly fix: string;
}

export const DEFAULT_LIMIT: DocumentLimit = { documents: LIMITS.manifestDocuments.value, fix: "use several files" };

/**
 * Yields the documents of a YAML text. The class YamlValues parses the scalars, because no schema of the
 * yaml package parses scalars like kubectl. With `keepSourceTokens`, the nodes have the tokens that
 * an editor of the text needs.
 * @throws LimitExceeded if the text exceeds a limit. RangeError if the text overflows the call stack.
 */
export function* yamlDocuments(
  text: string, lines: LineCounter, { documents, fix }: DocumentLimit = DEFAULT_LIMIT, keepSourceTokens = false,
): Generator<Document.Parsed, void> {
  const { value: limit } = LIMITS.manifestBytes;
  if (text.length > limit) throw new LimitExceeded(0, `larger than ${limit} bytes; use several files`);
  const options = {
    version: "1.1", schema: "failsafe", uniqueKeys: false, prettyErrors: false, lineCounter: lines,
    keepSourceTokens,
  } as const;
  let number = 0;
  for (const document of composerOfFirstErrors(options).compose(tokensOf(text, lines))) {
    number += 1;
    if (number > documents) {
      const message = `more than ${documents} YAML documents; ${fix}`;
      throw new LimitExceeded(document.range[0], message);
    }
    yield document;
  }
}

/**
 * Yields the tokens of the text, as `parseAllDocuments` of the yaml package does. Checks the depth before the
 * Composer of the package, which is recursive, reads a token. Skips errors that would not be reported: the Composer
 * takes about 7 µs for each error, and one character can cause an error.
 */
function* tokensOf(text: string, lines: LineCounter): ReturnType<Parser["parse"]> {
  const parser = new Parser(lines.addNewLine);
  lines.addNewLine(0);
  let hasError = false;
  for (const lexeme of new Lexer().lex(text)) {
    for (const token of parser.next(lexeme)) {
      if (token.type !== "error" || !hasError) yield token;
      // The Composer assigns later errors to another document.
      if (token.type === "error") hasError = true;
      else if (token.type === "document" || token.type === "directive") hasError = false;
    }
    // The stack contains the document, its open lists and objects, and at most one scalar.
    if (parser.stack.length > MAX_DEPTH + 2) throw new LimitExceeded(parser.offset, TOO_DEEP);
  }
  yield* parser.end();
}

/**
 * Returns a Composer that creates only the first error of each document, and no warnings. Creating an error takes about
 * 5 µs, and one character can cause an error.
 */
function composerOfFirstErrors(options: ConstructorParameters<typeof Composer>[0]): Composer {
  const composer = new Composer(options);
  // Overrides private members of the yaml package, because the package has no option for this.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const internals = composer as unknown as { onError: ErrorHandler; readonly errors: readonly unknown[] };
  const { onError } = internals;
  internals.onError = (source, code, message, isWarning) => {
    if (isWarning !== true && internals.errors.length === 0) onError(source, code, message);
  };
  return composer;
}

type ErrorHandler = (source: unknown, code: string, message: string, isWarning?: boolean) => void;
