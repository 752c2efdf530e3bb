import type { BundledPackage, BundledPackages } from "./bundled-packages.ts";

/** The fields of package.json that identify the program. */
interface Program {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly license: string;
}

/**
 * Returns a software bill of materials in the format CycloneDX 1.6 (https://cyclonedx.org/docs/1.6/json/). The optional
 * serial number and timestamp are omitted, so that two builds of the same sources are equal.
 */
export function softwareBillOfMaterials(program: Program, { packages, direct }: BundledPackages): object {
  const root = packageURL(program);
  const references = (indexes: readonly number[]): string[] => (
    indexes.flatMap((index) => packages[index] ?? []).map(packageURL)
  );
  return {
    $schema: "http://cyclonedx.org/schema/bom-1.6.schema.json",
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: {
      component: {
        "type": "application", "bom-ref": root, "name": program.name, "version": program.version,
        "description": program.description, "licenses": licenseChoice(program.license), "purl": root,
      },
    },
    components: packages.map(component),
    dependencies: [
      { ref: root, dependsOn: references(direct) },
      ...packages.map((one) => ({ ref: packageURL(one), dependsOn: references(one.dependencies) })),
    ],
  };
}

function component(one: BundledPackage): object {
  const [group, name] = one.name.startsWith("@") ? one.name.split("/", 2) : [undefined, one.name];
  const purl = packageURL(one);
  return {
    "type": "library", "bom-ref": purl, ...(group !== undefined && { group }), name, "version": one.version,
    "hashes": [{ alg: "SHA-512", content: one.sha512 }], "licenses": licenseChoice(one.license), purl,
  };
}

function licenseChoice(license: string): object[] {
  return /^[\w.+-]+$/.test(license) ? [{ license: { id: license } }] : [{ expression: license }];
}

/** Returns the package URL (https://github.com/package-url/purl-spec, type npm), in which `@` of a scope is encoded. */
function packageURL({ name, version }: Pick<BundledPackage, "name" | "version">): string {
  return `pkg:npm/${name.replace("@", "%40")}@${version}`;
}
