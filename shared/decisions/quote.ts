const LENGTH = 200;

/** A user's value inside a message: in double quotes, control characters escaped, cut where it is too long to read. */
export function quote(value: string): string {
  return value.length > LENGTH ? `${JSON.stringify(value.slice(0, LENGTH))}… (${value.length} characters)` : JSON.stringify(value);
}
