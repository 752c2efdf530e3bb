import { testSDK } from "./sdk-matrix.ts";

testSDK("botocore");
