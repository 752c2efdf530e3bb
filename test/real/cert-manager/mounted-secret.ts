import { mkdir, rename, symlink, writeFile } from "node:fs/promises";
import path from "node:path";
import { field, isJsonObject, stringAt } from "../../../shared/formats/json.ts";

/** Writes a Secret into a folder as the kubelet does: the link `..data` replaces all files at once. */
export async function mountSecret(dir: string, secret: unknown): Promise<void> {
  const data = field(secret, "data");
  const entries = Object.entries(isJsonObject(data) ? data : {});
  const version = `..${stringAt(secret, "metadata", "resourceVersion")}`;
  await mkdir(path.join(dir, version), { recursive: true });
  await Promise.all(entries.map(([name, value]) => (
    writeFile(path.join(dir, version, name), Buffer.from(String(value), "base64"))
  )));
  await symlink(version, path.join(dir, "..data_tmp"));
  await rename(path.join(dir, "..data_tmp"), path.join(dir, "..data"));
  await Promise.all(entries.map(([name]) => linkOnce(path.join("..data", name), path.join(dir, name))));
}

async function linkOnce(target: string, link: string): Promise<void> {
  await symlink(target, link).catch((error: unknown) => {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
  });
}
