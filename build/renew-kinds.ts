// Renews the bundled list of the kinds of ACK from CustomResourceDefinitions: `npm run renew-kinds -- PATH...`, where
// PATH is a file, a folder, or `-` for standard input (kubectl get crds -o json).
import { writeFileSync } from "node:fs";
import process from "node:process";
import { inventoryOf } from "../cli/input/state.ts";
import { inputError, readManifestPaths } from "../shared/files/files.ts";
import { BUNDLED_KINDS } from "../shared/ack/bundled-types.ts";
import { kindListText, renewedList } from "./kind-list.ts";

const { manifests, faults } = await readManifestPaths(process.argv.slice(2));
if (faults.length > 0) throw inputError(faults);
const { kinds } = inventoryOf(manifests.map(({ object }) => object), { runtime: "ack", origin: "file" });
const types = [...kinds.definedTypes()];
const renewed = renewedList(BUNDLED_KINDS, types, new Date().toISOString().slice(0, 7));
if (types.length === 0) throw new Error("no CustomResourceDefinition of an ACK controller found; pass files or -");
writeFileSync(new URL("../shared/core/ack-kinds.json", import.meta.url), kindListText(renewed));
process.stdout.write(`${types.length} kinds of ${new Set(types.map(({ group }) => group)).size} groups renewed\n`);
