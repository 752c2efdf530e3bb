import type { BundledPackage, BundledPackages } from "./bundled-packages.ts";

const HEADING = "ack-role-resolver contains code of these packages. Each list of packages precedes their license.";
const RULE = "=".repeat(80);

const MIT_TEXT = `Permission is hereby granted, free of charge, to any person obtaining a copy of this software and
associated documentation files (the "Software"), to deal in the Software without restriction, including without
limitation the rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software,
and to permit persons to whom the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the
Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR
OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.`;

/**
 * Returns the text of THIRD-PARTY-LICENSES.txt. Packages with the same text share it. Some packages contain no license
 * file: for these, the text is the standard text of their license. `apache` is the text of the Apache License 2.0.
 */
export function thirdPartyLicenses(packages: readonly BundledPackage[], apache: string): string {
  const byText = new Map<string, string[]>();
  for (const one of packages) {
    const text = one.texts.length > 0 ? one.texts.join("\n\n") : standardText(one, apache);
    const line = `${one.name} ${one.version} (${one.license})`;
    byText.set(text, [...byText.get(text) ?? [], line]);
  }
  const sections = [...byText].map(([text, lines]) => `${RULE}\n${lines.join("\n")}\n\n${text}\n`);
  return [`${HEADING}\n`, ...sections].join("\n");
}

function standardText({ name, license }: BundledPackage, apache: string): string {
  if (license === "Apache-2.0") return apache.trim();
  if (license === "MIT") return `Copyright (c) the authors of ${name}\n\n${MIT_TEXT}`;
  throw new Error(`${name}: the package contains no license file, and no standard text of ${license} is known; `
    + "add the text to build/third-party-licenses.ts");
}

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
