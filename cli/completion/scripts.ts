import { PRODUCT } from "../../shared/core/installation.ts";
import { COMPLETE, PLUGIN_FILE } from "../plugin.ts";

/** The shells for which a script exists; `kubectl` is the program that kubectl asks about its plugin. */
export const SHELLS = ["bash", "zsh", "fish", "powershell", "kubectl"] as const;
export type Shell = (typeof SHELLS)[number];

// Each script passes the words up to the cursor to the hidden command, which does all the rest. It prints a line for
// each candidate, with a tab before its description, and then `:0` to offer files, or a number that contains 2 if no
// space follows the candidate.

const BASH = `# bash completion for ${PRODUCT}
_ack_role_resolver() {
  local words line prefix
  # Bash splits words at = and :, so the words are read from the line.
  read -ra words <<< "\${COMP_LINE:0:COMP_POINT}"
  [[ \${COMP_LINE:COMP_POINT-1:1} == " " ]] && words+=("")
  prefix=\${words[-1]%"\${words[-1]##*[=:]}"}
  COMPREPLY=()
  while IFS= read -r line; do
    case $line in
      :0) compopt -o default ;;
      :[0-9]) [[ $((\${line:1} & 2)) == 0 ]] || compopt -o nospace ;;
      *) line=\${line%%$'\\t'*} COMPREPLY+=("\${line#"$prefix"}") ;;
    esac
  done < <("\${words[0]}" ${COMPLETE} "\${words[@]:1}" 2> /dev/null)
}
complete -F _ack_role_resolver ${PRODUCT} ${PLUGIN_FILE}
`;

const ZSH = `#compdef ${PRODUCT} ${PLUGIN_FILE}
_ack_role_resolver() {
  local line directive
  local -a lines values options
  lines=("\${(@f)$("\${words[1]}" ${COMPLETE} "\${(@)words[2,CURRENT]}" 2> /dev/null)}")
  directive=\${lines[-1]#:}
  for line in "\${(@)lines[1,-2]}"; do
    line=\${line//:/\\\\:}
    values+=("\${line/$'\\t'/:}")
  done
  if [[ $directive == 0 ]]; then _files; return; fi
  (( directive & 2 )) && options=(-S '')
  (( \${#values} )) && _describe value values "\${options[@]}"
}
if [[ \${funcstack[1]} == _ack_role_resolver ]]; then _ack_role_resolver "$@"
else compdef _ack_role_resolver ${PRODUCT} ${PLUGIN_FILE}; fi
`;

const FISH = `# fish completion for ${PRODUCT}
function __ack_role_resolver
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l lines ($words[1] ${COMPLETE} $words[2..-1] "$current" 2> /dev/null)
    if test "$lines[-1]" = ":0"
        __fish_complete_path "$current"
    else
        string match --invert --regex '^:[0-9]$' -- $lines
    end
end
complete --command ${PRODUCT} --no-files --arguments '(__ack_role_resolver)'
complete --command ${PLUGIN_FILE} --no-files --arguments '(__ack_role_resolver)'
`;

const POWERSHELL = `# PowerShell completion for ${PRODUCT}
Register-ArgumentCompleter -Native -CommandName '${PRODUCT}', '${PLUGIN_FILE}' -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    $words = @($commandAst.CommandElements | Where-Object { $_.Extent.StartOffset -lt $cursorPosition } |
        ForEach-Object { $_.ToString() })
    if ($wordToComplete -eq '') { $words += '""' }
    $program = $words[0]
    $rest = @($words | Select-Object -Skip 1)
    $lines = @(& $program ${COMPLETE} @rest 2> $null)
    if ($lines.Count -eq 0 -or $lines[-1] -eq ':0') { return }
    foreach ($line in $lines | Select-Object -SkipLast 1) {
        $value, $description = $line -split "\`t", 2
        if (-not $description) { $description = $value }
        [System.Management.Automation.CompletionResult]::new($value, $value, 'ParameterValue', $description)
    }
}
`;

const KUBECTL = `#!/bin/sh
# kubectl 1.26 or later runs this file, as kubectl_complete-ack_role in the PATH, to complete \`kubectl ack-role\`.
exec ${PLUGIN_FILE} ${COMPLETE} "$@"
`;

export const SCRIPTS: Readonly<Record<Shell, string>> = {
  bash: BASH, zsh: ZSH, fish: FISH, powershell: POWERSHELL, kubectl: KUBECTL,
};
