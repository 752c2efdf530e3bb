#!/usr/bin/env bash
# The second step of action.yml. Runs lint, prints annotations, writes the page of the roles if a file is given, and
# exits with the status of lint.
set -uo pipefail

# bash 3.2 of macOS has no readarray.
arguments=()
while IFS= read -r line; do
  [ -z "$line" ] || arguments+=("$line")
done <<< "$LINT_ARGS
--output=sarif
--
$LINT_PATHS"

sarif="${SARIF_FILE:-$RUNNER_TEMP/ack-role-resolver.sarif}"
"$NODE" "$PROGRAM" lint "${arguments[@]}" > "$sarif"
status=$?
# The file is empty if lint rejects its arguments or Node.js is too old. Standard error then contains the reason.
if [ -s "$sarif" ] && [ "$ANNOTATIONS" != false ]; then
  "$NODE" --disable-warning=ExperimentalWarning "$GITHUB_ACTION_PATH/action/main.ts" "$sarif"
fi
# The page shows findings too, but only lint decides the status.
if [ -n "$MAP_FILE" ]; then
  paths=()
  while IFS= read -r line; do
    [ -z "$line" ] || paths+=("$line")
  done <<< "$LINT_PATHS"
  "$NODE" "$PROGRAM" map --html="$MAP_FILE" -- ${paths[@]+"${paths[@]}"} >&2
  [ $? -gt 1 ] || printf 'map-file=%s\n' "$MAP_FILE" >> "$GITHUB_OUTPUT"
fi
printf 'sarif-file=%s\nexit-status=%s\n' "$sarif" "$status" >> "$GITHUB_OUTPUT"
exit "$status"
