import { Ajv, type ValidateFunction } from "ajv";

/** A JSON schema. `$id` is the name of the compiled validation function. */
export interface NamedSchema {
  readonly $id: string;
}

/**
 * `allowUnionTypes` permits a field to be null or another type. `verbose` adds the schema and the value to each error,
 * for use in messages.
 */
export const AJV_OPTIONS = { allErrors: true, allowUnionTypes: true, verbose: true } as const;

/**
 * Compiles a schema to a validation function. The function stores the errors of its last call in `errors`. Compilation
 * takes 20 ms and several MB, so build.ts replaces this module by the precompiled function of the schema of selectors.
 */
export function compileSchema<T = unknown>(schema: NamedSchema): ValidateFunction<T> {
  return new Ajv(AJV_OPTIONS).compile<T>(schema);
}
