import { readEnvironment } from "../environment.ts";
import { setUpBotocore } from "./botocore.ts";

// The entry behind `npm run setup:sdks`: botocore stands in the cache afterwards, whether it did before or not.
const { folder } = await setUpBotocore(readEnvironment());
process.stdout.write(`${folder}\n`);
