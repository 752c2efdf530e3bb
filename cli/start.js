#!/usr/bin/env node
// The entry of the program; `npm run build` copies this file to dist. It checks the version of Node.js before Node.js
// parses any other file. An old Node.js must be able to parse this file as an ES module and as a CommonJS module. So it
// has no import statement and, except for import(), only the syntax of ES5.

/** The lowest version, as in `engines` in package.json. */
var REQUIRED = { major: 22, minor: 19 };
var found = process.versions.node;
var major = parseInt(found, 10);
var minor = parseInt(found.slice(found.indexOf(".") + 1), 10);

if (major > REQUIRED.major || (major === REQUIRED.major && minor >= REQUIRED.minor)) {
  void import("./main.ts");
} else {
  process.stderr.write(
    "ack-role-resolver: Node.js " + found + " is too old: install Node.js " + REQUIRED.major + "." + REQUIRED.minor
    + " or later from https://nodejs.org/en/download, or put the folder of a later version first in the PATH\n"
  );
  process.exitCode = 2;
}
