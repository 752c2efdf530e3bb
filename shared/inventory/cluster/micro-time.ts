/** Returns the time in the format of Kubernetes' MicroTime. `ms` is the time since the Unix epoch. */
export function microTime(ms: number): string {
  return new Date(ms).toISOString().replace("Z", "000Z");
}
