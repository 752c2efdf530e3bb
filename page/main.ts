import { Live } from "./live.ts";
import { Page } from "./page.ts";
import { readData } from "./page-data.ts";

const data = readData(document.querySelector("#data")?.textContent ?? "");
const page = new Page(data.maps);
page.start();
if (data.stale !== undefined) new Live(page).start(data);
// The benchmark measures when the page can be used.
performance.mark("ready");
