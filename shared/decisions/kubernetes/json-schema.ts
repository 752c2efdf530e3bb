import { Ajv, type ValidateFunction } from "ajv";

/** A JSON schema by the name that its compiled form has. */
export interface NamedSchema {
  readonly $id: string;
}

/** `allowUnionTypes`: null beside a type is on purpose. `verbose`: an error holds the schema and the value that it is about. */
export const AJV_OPTIONS = { allErrors: true, allowUnionTypes: true, verbose: true } as const;

/**
 * Compiles a schema; what does not fit stands in `errors` of the function until it is called again. Slow at 20 ms and several MB: what is
 * built for production holds the compiled functions in this module's place, so every schema must be one that build.ts lists.
 */
export function compileSchema<T = unknown>(schema: NamedSchema): ValidateFunction<T> {
  return new Ajv(AJV_OPTIONS).compile<T>(schema);
}
