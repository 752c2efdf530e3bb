const REASONS: Readonly<Record<string, string>> = {
  ENOENT: "no such file or folder",
  EACCES: "permission denied; grant this user read access",
  EPERM: "permission denied; grant this user read access",
  ELOOP: "symbolic link loop; remove the link",
};

/** Returns why a file or folder cannot be read. */
export function unreadable(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return REASONS["code" in error ? String(error.code) : ""] ?? error.message;
}
