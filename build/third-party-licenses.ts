import type { BundledPackage } from "./bundled-packages.ts";

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
