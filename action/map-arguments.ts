import { SETTINGS } from "../shared/core/settings.ts";
import type { Definition } from "../shared/core/setting-definition.ts";

const DEFINITIONS: readonly Definition[] = Object.values(SETTINGS);

/** Returns the arguments of `lint`, in the form `--flag` or `--flag=value`, that `map` also has. */
export function mapArguments(lintArguments: readonly string[]): readonly string[] {
  return lintArguments.filter((argument) => {
    const [flag] = argument.split("=");
    return DEFINITIONS.some((one) => one.flag === flag && one.commands.includes("map"));
  });
}
