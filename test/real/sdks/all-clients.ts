import { join } from "node:path";
import type { Recipe } from "../../programs/cache.ts";
import { GO_CLIENT, goClientIn } from "../../programs/go-client.ts";
import { JAVA_CLIENT, javaCommand } from "../../programs/java-client.ts";
import { RUST_CLIENT, rustClientIn } from "../../programs/rust-client.ts";
import { BOTOCORE, wheelsIn } from "../../programs/wheels.ts";
import { type Client, runWith, type SDK } from "./client.ts";

interface ClientProgram {
  /** The name of the SDK. */
  readonly name: string;
  /** The program or its libraries; null if the project's own dependencies are enough. */
  readonly recipe: Recipe | null;
  /** Returns the client, given the folder of the recipe. */
  readonly clientIn: (folder: string) => Promise<Client>;
}

const PROGRAMS = join(import.meta.dirname, "clients");

/** The client programs of all SDKs. */
export const ALL_CLIENTS: Readonly<Record<SDK, ClientProgram>> = {
  go: {
    name: "the AWS SDK for Go", recipe: GO_CLIENT,
    clientIn: async (folder) => ({ sdk: "go", run: runWith(goClientIn(folder)) }),
  },
  botocore: {
    name: "botocore", recipe: BOTOCORE,
    clientIn: async (installed) => {
      const { python, folder } = await wheelsIn(installed);
      const variables = { PYTHONPATH: folder, PYTHONDONTWRITEBYTECODE: "1" };
      return { sdk: "botocore", run: runWith(python, [join(PROGRAMS, "botocore_client.py")], variables) };
    },
  },
  javascript: {
    name: "the AWS SDK for JavaScript", recipe: null,
    clientIn: async () => ({ sdk: "javascript", run: runWith(process.execPath, [join(PROGRAMS, "javascript.ts")]) }),
  },
  java: {
    name: "the AWS SDK for Java", recipe: JAVA_CLIENT,
    clientIn: async (folder) => {
      const { java, args } = await javaCommand(folder);
      return { sdk: "java", run: runWith(java, args) };
    },
  },
  rust: {
    name: "the AWS SDK for Rust", recipe: RUST_CLIENT,
    clientIn: async (folder) => ({ sdk: "rust", run: runWith(rustClientIn(folder)) }),
  },
};
