import type { Wheels } from "./wheels.ts";

export const BOTOCORE: Wheels = { name: "botocore", requirements: "clients/requirements.txt", needs: "Python >= 3.10 with pip, once, about 10 seconds" };
