import { GO_CLIENT, goClientIn } from "../../programs/go-client.ts";
import { runWith } from "./client.ts";
import { testSDK } from "./sdk-matrix.ts";

testSDK("the AWS SDK for Go", [GO_CLIENT], async (folder) => ({ sdk: "go", run: runWith(goClientIn(folder)) }));
