import { createReadStream } from "node:fs";
import { LIMITS } from "../../shared/core/limits.ts";
import { readManifests } from "../../shared/files/manifest-reader.ts";
import { errorMessage, ResolverError } from "../../shared/formats/errors.ts";
import { printable } from "../../shared/formats/text.ts";
import { IAMData } from "../../shared/trust/iam-data.ts";
import { IAMFile, templateError, unrecognized } from "../../shared/trust/iam-inputs.ts";
import { parseSubject } from "../../shared/trust/iam-reader.ts";
import { ElementReader, type JSONElement } from "../../shared/trust/json-elements.ts";

/** Large chunks, because an export can have hundreds of megabytes. */
const CHUNK_BYTES = 1024 * 1024;

/**
 * Reads files that describe IAM, and the accounts of profiles. A file is a path, or `SUBJECT=PATH` with the account or
 * the ARN that it describes. Rejects with ERR_INPUT_UNREADABLE and the name of the first input that is of no known
 * kind, contradicts another one or is not available.
 */
export async function readIAMFiles(files: readonly string[], profiles: readonly string[] = []): Promise<IAMData> {
  if (files.length + profiles.length === 0) {
    const message = "--iam is missing: pass the output of get-account-authorization-details, or --aws PROFILE";
    throw new ResolverError("ERR_CONFIG_INVALID", message);
  }
  const data = new IAMData();
  for (const file of files) {
    // oxlint-disable-next-line no-await-in-loop -- one file at a time, because each can be large
    await naming(`--iam ${file}`, () => readIAMFile(file, data));
  }
  for (const profile of profiles) {
    // oxlint-disable-next-line no-await-in-loop -- IAM limits the rate of calls
    await naming(`--aws ${profile}`, () => readProfile(profile, data));
  }
  await naming("--iam", () => data.finish());
  return data;
}

/** Throws if the inputs have no role, or show that they lack roles: an answer about every role would not be true. */
export function checkExports(data: IAMData): void {
  const [file] = data.truncated;
  const [first] = data.roles();
  const fault = file !== undefined ? `${file} is one page of an output: export all pages, without --max-items`
    : first === undefined && data.unnamed.size === 0 ? "no input contains a role" : null;
  if (fault !== null) throw new ResolverError("ERR_INPUT_UNREADABLE", printable(`--iam: ${fault}`));
}

/** Imports the client of IAM on demand, because most runs read files. */
async function readProfile(profile: string, data: IAMData): Promise<void> {
  const { authorizationDetails, iamClientOf } = await import("./aws-iam.ts");
  const file = new IAMFile({ data, file: `profile ${profile}`, subject: null });
  const client = iamClientOf(profile);
  try {
    for await (const element of authorizationDetails(client)) file.add(element);
  } finally {
    client.destroy();
  }
  file.finish();
}

async function naming(name: string, read: () => Promise<void> | void): Promise<void> {
  try {
    await read();
  } catch (error) {
    const message = printable(`${name}: ${errorMessage(error)}`);
    throw new ResolverError("ERR_INPUT_UNREADABLE", message, { cause: error });
  }
}

/** Matches `SUBJECT=PATH`. A path that contains `=` can be written with a folder: `./111122223333=x`. */
const WITH_SUBJECT = /^([0-9]{12}|arn:[^=]*)=(.+)$/s;

async function readIAMFile(argument: string, data: IAMData): Promise<void> {
  const [, stated, path = argument] = WITH_SUBJECT.exec(argument) ?? [];
  const subject = stated === undefined ? null : parseSubject(stated);
  if (stated !== undefined && subject === null) {
    throw new Error(`${stated} is neither an account nor an ARN of IAM`);
  }
  const file = new IAMFile({ data, file: path, subject });
  for await (const elements of elementsOf(path)) for (const element of elements) file.add(element);
  file.finish();
}

/** Yields the elements of a JSON text, or of a YAML text that contains manifests, many at a time. */
async function* elementsOf(path: string): AsyncGenerator<Iterable<JSONElement>, void, void> {
  const chunks: AsyncIterable<Buffer> = createReadStream(path, { highWaterMark: CHUNK_BYTES });
  const reader = new ElementReader();
  const texts: Buffer[] = [];
  let isJSON: boolean | null = null;
  let bytes = 0;
  for await (const chunk of chunks) {
    isJSON ??= startsJSON(chunk);
    bytes += chunk.length;
    if (isJSON) yield reader.read(chunk);
    else if (bytes > LIMITS.manifestBytes.value) throw new Error(`larger than ${LIMITS.manifestBytes.value} bytes`);
    else texts.push(chunk);
  }
  if (isJSON === false) yield elementsOfYAML(decode(Buffer.concat(texts)));
  else reader.finish();
}

/** Matches the start of a JSON text after a byte order mark, and a text without content. */
const JSON_START = /^(?:\u{FEFF})?\s*(?:[{[]|$)/u;

function startsJSON(chunk: Buffer): boolean {
  return JSON_START.test(chunk.subarray(0, 1024).toString());
}

function decode(bytes: Buffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error) {
    throw new Error("not valid UTF-8; save the file as UTF-8", { cause: error });
  }
}

const TEMPLATE_VERSION = /^["']?AWSTemplateFormatVersion["']?\s*:/m;
const RESOURCES = /^["']?Resources["']?\s*:/m;
const RESOURCE_OF_TEMPLATE = /\bType["']?\s*:\s*["']?AWS::/;
const MANIFEST = /^["']?apiVersion["']?\s*:/m;

function* elementsOfYAML(text: string): Generator<JSONElement, void, void> {
  if (TEMPLATE_VERSION.test(text) || (RESOURCES.test(text) && RESOURCE_OF_TEMPLATE.test(text))) throw templateError();
  if (!MANIFEST.test(text)) throw unrecognized();
  const { manifests, faults: [fault] } = readManifests(text, "");
  if (fault !== undefined) throw new Error(`${fault.line === null ? "" : `line ${fault.line}: `}${fault.message}`);
  for (const [index, { object }] of manifests.entries()) yield { key: "items", index, value: object };
}
