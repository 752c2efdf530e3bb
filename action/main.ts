// Prints the findings of a SARIF file as annotations: `node action/main.ts FILE`.
import { readFileSync } from "node:fs";
import process from "node:process";
import { annotations, type SARIFLog } from "./annotations.ts";

// oxlint-disable-next-line typescript/no-unsafe-assignment -- lint wrote the file
const log: SARIFLog = JSON.parse(readFileSync(process.argv[2] ?? "", "utf8"));
process.stdout.write(annotations(log).map((line) => `${line}\n`).join(""));
