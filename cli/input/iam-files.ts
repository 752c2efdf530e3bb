import { createReadStream } from "node:fs";
import { errorMessage, ResolverError } from "../../shared/formats/errors.ts";
import { printable } from "../../shared/formats/text.ts";
import { ExportFile, IAMData } from "../../shared/trust/iam-data.ts";
import { ElementReader } from "../../shared/trust/json-elements.ts";

/** Large chunks, because an export can have hundreds of megabytes. */
const CHUNK_BYTES = 1024 * 1024;

/** Reads exports of IAM. Rejects with the path of the first file that is not an export, or if there are no files. */
export async function readIAMFiles(paths: readonly string[]): Promise<IAMData> {
  if (paths.length === 0) {
    const message = "--iam is missing: pass the output of get-account-authorization-details";
    throw new ResolverError("ERR_CONFIG_INVALID", message);
  }
  const data = new IAMData();
  for (const path of paths) {
    try {
      // oxlint-disable-next-line no-await-in-loop -- one file at a time, because each can be large
      await readIAMFile(path, data);
    } catch (error) {
      const message = printable(`--iam ${path}: ${errorMessage(error)}`);
      throw new ResolverError("ERR_INPUT_UNREADABLE", message, { cause: error });
    }
  }
  return data;
}

async function readIAMFile(path: string, data: IAMData): Promise<void> {
  const file = new ExportFile(data);
  const reader = new ElementReader();
  const chunks: AsyncIterable<Buffer> = createReadStream(path, { highWaterMark: CHUNK_BYTES });
  for await (const chunk of chunks) for (const element of reader.read(chunk)) file.add(element);
  reader.finish();
  if (!file.finish()) throw new Error("not an export; pass the output of aws iam get-account-authorization-details");
}
