import process from "node:process";
import { keepCompiled } from "./compile-cache.ts";

// Before the program, which is most of the code, is loaded.
keepCompiled(process.env);
await import("./run-process.ts");
