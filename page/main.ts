import type { RoleMap } from "../shared/role-map/role-map.ts";
import { Page } from "./page.ts";

/** The data in the document. */
interface PageData {
  readonly maps: readonly RoleMap[];
}

const data = document.querySelector("#data")?.textContent ?? "";
// oxlint-disable-next-line typescript/no-unsafe-assignment -- the program wrote the data
const { maps }: PageData = JSON.parse(data);
new Page(maps).start();
// The benchmark measures when the page can be used.
performance.mark("ready");
