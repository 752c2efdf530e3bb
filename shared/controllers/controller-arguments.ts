import { field } from "../formats/json.ts";
import type { Container } from "../core/pod.ts";

/** The variables of a container by name. A value is null if it is in another object, such as a Secret. */
export type Environment = ReadonlyMap<string, string | null>;

/** The maximum length of an expanded text. References to other variables could multiply the length of a text. */
const MAX_LENGTH = 10_000;
const TOO_LONG = " ".repeat(MAX_LENGTH + 1);

/** A reference to a variable, or an escaped `$`. Source: k8s.io/kubernetes third_party/forked/golang/expansion. */
const REFERENCE = /\$\$|\$\(([-._a-zA-Z0-9]{1,253})\)/g;

/**
 * Returns the text with the values of its references `$(NAME)`, or null if a value is unknown. The kubelet does not
 * replace a reference to a variable that does not exist, but `envFrom` could define it.
 */
function expand(text: string, environment: Environment): string | null {
  if (text.length > MAX_LENGTH) return null;
  let { length } = text;
  const expanded = text.replace(REFERENCE, (_, name: string | undefined) => {
    const value = name === undefined ? "$" : environment.get(name) ?? TOO_LONG;
    length += value.length;
    return length > MAX_LENGTH ? "" : value;
  });
  return length > MAX_LENGTH ? null : expanded;
}

/** Returns the variables as the kubelet computes them: a value can refer to earlier variables. */
export function environmentOf({ env }: Pick<Container, "env">): Environment {
  const values = new Map<string, string | null>();
  for (const { name, value } of env) values.set(name, value === null ? null : expand(value, values));
  return values;
}

interface Flag {
  readonly name: string;
  readonly value: string | null | undefined;
}

interface Argument {
  /** The argument in the Deployment. */
  readonly word: string;
  /** The argument that the controller receives; null if it is unknown. */
  readonly value: string | null;
}

/** The flags of a controller by name, without `--`. A value is null if it is unknown. */
export type Arguments = ReadonlyMap<string, string | null>;

/** The flags that need no value. Source: aws-controllers-k8s/runtime v0.62.0, pkg/config/config.go. */
const BOOLEAN_FLAGS: ReadonlySet<string> = new Set([
  "enable-cross-namespace", "enable-field-export-reconciler", "enable-leader-election", "enable-carm",
  "enable-development-logging", "allow-unsafe-aws-endpoint-urls", "aws-endpoint-use-path-style",
  "enable-webhook-server",
]);

/**
 * Returns the flags that a controller receives. Returns null if they are unknown: if the container starts another
 * program, such as a shell, or if an unknown argument could be any flag.
 */
export function argumentsOf({ object, words, env }: Pick<Container, "object" | "words" | "env">): Arguments | null {
  const command = field(object, "command");
  const hasCommand = Array.isArray(command) && command.length > 0;
  if (hasCommand && !words.slice(0, 1).some((word) => PROGRAM.test(word))) return null;
  const environment = environmentOf({ env });
  const list = words.slice(hasCommand ? 1 : 0).map((word) => ({ word, value: expand(word, environment) }));
  return parseArguments(list.toReversed());
}

/** Parses arguments, of which the first is the last item of `open`, as spf13/pflag does: the last value counts. */
function parseArguments(open: Argument[]): Arguments | null {
  const flags = new Map<string, string | null>();
  for (let next = open.pop(); next !== undefined && next.value !== "--"; next = open.pop()) {
    const flag = flagIn(next);
    if (flag === null && next.value === null) return null;
    if (flag !== null) flags.set(flag.name, flag.value === undefined ? valueAfter(flag.name, open) : flag.value);
  }
  return flags;
}

/** Returns the flag in an argument. Its value is null if it is unknown, and undefined if the argument has none. */
function flagIn({ word, value }: Argument): Flag | null {
  const [, name, own] = FLAG.exec(value ?? word) ?? [];
  return name === undefined ? null : { name, value: own === undefined || value !== null ? own : null };
}

/**
 * Returns the value of a flag whose argument has none. pflag would take another flag as the value, but a flag of a
 * later runtime may need no value.
 */
function valueAfter(name: string, open: Argument[]): string | null {
  const next = open.at(-1);
  if (BOOLEAN_FLAGS.has(name) || (next !== undefined && flagIn(next) !== null)) return "true";
  return open.pop()?.value ?? null;
}

/** The program in the images of ACK, at any path. */
const PROGRAM = /(^|\/)controller$/;
const FLAG = /^--([a-z][-a-z]*)(?:=(.*))?$/s;

/**
 * Whether the arguments contain the flags that the charts and manifests of every ACK controller have set since 2021.
 * The AWS Load Balancer Controller has `--aws-region` too.
 */
export function hasArgumentsOfACK({ words }: Pick<Container, "words">): boolean {
  return ["--aws-region", "--aws-endpoint-url", "--resource-tags"].every((flag) => (
    words.some((word) => word === flag || word.startsWith(`${flag}=`))
  ));
}
