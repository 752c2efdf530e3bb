import { readFile } from "node:fs/promises";
import path from "node:path";
import { Ajv, type AnySchemaObject, type ErrorObject } from "ajv";
import { ROOT } from "../real/ci/packed.ts";

/** The schemas of https://cyclonedx.org/schema/, which the authors of CycloneDX publish in this package. */
const SCHEMAS = path.join(ROOT, "node_modules/@cyclonedx/cyclonedx-library/res/schema");
/** The schemas refer to each other by names in this folder. */
const BASE = "http://cyclonedx.org/schema/";
const REFERENCED = ["spdx", "cryptography-defs", "jsf-0.82"];

/** Returns a function that returns the faults of a document by the official JSON schema of CycloneDX 1.6. */
export async function schemaValidator(): Promise<(document: unknown) => readonly ErrorObject[]> {
  // The schema contains keywords of CycloneDX, such as `meta:enum`.
  const ajv = new Ajv({ strict: false, allErrors: true, formats: FORMATS });
  const referenced = await Promise.all(REFERENCED.map(readSchema));
  for (const [i, name] of REFERENCED.entries()) ajv.addSchema(referenced[i] ?? {}, `${BASE}${fileOf(name)}`);
  const validate = ajv.compile(await readSchema("bom-1.6"));
  return (document) => (validate(document) === true ? [] : validate.errors ?? []);
}

const FORMATS = {
  "date-time": (text: string): boolean => !Number.isNaN(Date.parse(text)),
  "idn-email": /^[^@\s]+@[^@\s]+$/,
  "uri": (text: string): boolean => URL.canParse(text),
  "iri-reference": (text: string): boolean => URL.canParse(text, BASE),
};

function fileOf(name: string): string {
  return `${name}.SNAPSHOT.schema.json`;
}

async function readSchema(name: string): Promise<AnySchemaObject> {
  return JSON.parse(await readFile(path.join(SCHEMAS, fileOf(name)), "utf8"));
}
