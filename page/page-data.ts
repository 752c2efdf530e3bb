import type { PageData } from "../shared/diagnosis/role-map/page-html.ts";

/** Reads the data of the document. */
export function readData(text: string): PageData {
  // oxlint-disable-next-line typescript/no-unsafe-assignment -- the program wrote the data
  const data: PageData = JSON.parse(text);
  return data;
}
