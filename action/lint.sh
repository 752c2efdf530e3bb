#!/usr/bin/env bash
# The second step of action.yml. Runs lint, prints annotations, adds a summary to the job, writes the page of the roles if
# a file is given, and exits with the status of lint.
set -uo pipefail

# bash 3.2 of macOS has no readarray.
arguments=()
while IFS= read -r line; do
  [ -z "$line" ] || arguments+=("$line")
done <<< "$LINT_ARGS"
paths=()
while IFS= read -r line; do
  [ -z "$line" ] || paths+=("$line")
done <<< "$LINT_PATHS"

# Runs a program of the action itself.
action() {
  "$NODE" --disable-warning=ExperimentalWarning "$GITHUB_ACTION_PATH/action/main.ts" "$@"
}

sarif="${SARIF_FILE:-$RUNNER_TEMP/ack-role-resolver.sarif}"
"$NODE" "$PROGRAM" lint ${arguments[@]+"${arguments[@]}"} --output=sarif -- ${paths[@]+"${paths[@]}"} > "$sarif"
status=$?
# The file is empty if lint rejects its arguments or Node.js is too old. Standard error then contains the reason.
[ ! -s "$sarif" ] || action "$sarif"
# The page shows findings too, but only lint decides the status.
if [ -n "$MAP_FILE" ]; then
  shared=()
  while IFS= read -r line; do
    [ -z "$line" ] || shared+=("$line")
  done <<< "$(action --map ${arguments[@]+"${arguments[@]}"})"
  "$NODE" "$PROGRAM" map ${shared[@]+"${shared[@]}"} --html="$MAP_FILE" -- ${paths[@]+"${paths[@]}"} >&2
  [ $? -gt 1 ] || printf 'map-file=%s\n' "$MAP_FILE" >> "$GITHUB_OUTPUT"
fi
printf 'sarif-file=%s\nexit-status=%s\n' "$sarif" "$status" >> "$GITHUB_OUTPUT"
exit "$status"
