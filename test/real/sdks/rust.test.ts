import { RUST_CLIENT, rustClientIn } from "../../programs/rust-client.ts";
import { runWith } from "./client.ts";
import { testSDK } from "./sdk-matrix.ts";

testSDK("the AWS SDK for Rust", [RUST_CLIENT], async (folder) => ({ sdk: "rust", run: runWith(rustClientIn(folder)) }));
