import { Ajv, type ValidateFunction } from "ajv";

/** A JSON schema. `$id` is the name of its compiled form. */
export interface NamedSchema {
  readonly $id: string;
}

/**
 * `allowUnionTypes` permits null besides another type. `verbose` adds the schema and the value to each error, which
 * messages need.
 */
export const AJV_OPTIONS = { allErrors: true, allowUnionTypes: true, verbose: true } as const;

/**
 * Compiles a schema. The function stores the faults of its last call in `errors`. Compilation takes 20 ms and several
 * MB, so build.ts replaces this module by functions that it has compiled. It must list every schema.
 */
export function compileSchema<T = unknown>(schema: NamedSchema): ValidateFunction<T> {
  return new Ajv(AJV_OPTIONS).compile<T>(schema);
}
