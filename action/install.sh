#!/usr/bin/env bash
# The first step of action.yml. Installs the program and reports the paths of Node.js and of the program.
# The PATH of later steps does not change.
set -euo pipefail

if [ -z "$PACKAGE" ]; then
  # npm ci also builds the program and installs the Node.js version of the project.
  (cd "$GITHUB_ACTION_PATH" && npm ci --no-audit --no-fund)
  node="$GITHUB_ACTION_PATH/node_modules/.bin/node"
  program="$GITHUB_ACTION_PATH/dist/ack-role-resolver.js"
elif [[ "$PACKAGE" == *.tgz && -f "$PACKAGE" ]]; then
  prefix="$RUNNER_TEMP/ack-role-resolver"
  # The package has no dependencies. Offline, npm cannot install another package by mistake.
  npm install -g --offline --no-audit --no-fund --prefix "$prefix" "$(cd "$(dirname "$PACKAGE")" && pwd)/${PACKAGE##*/}"
  node=node
  program="$prefix/lib/node_modules/ack-role-resolver/dist/ack-role-resolver.js"
else
  echo "ack-role-resolver: the input package is \"$PACKAGE\", not the path of a .tgz file; create it with npm pack" >&2
  exit 2
fi
printf 'node=%s\nprogram=%s\n' "$node" "$program" >> "$GITHUB_OUTPUT"
