# PowerShell completion for ack-role-resolver
Register-ArgumentCompleter -Native -CommandName 'ack-role-resolver', 'kubectl-ack_role' -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    $words = @($commandAst.CommandElements | Where-Object { $_.Extent.StartOffset -lt $cursorPosition } |
        ForEach-Object { $_.ToString() })
    if ($wordToComplete -eq '') { $words += '""' }
    $program = $words[0]
    $rest = @($words | Select-Object -Skip 1)
    $lines = @(& $program __complete @rest 2> $null)
    if ($lines.Count -eq 0 -or $lines[-1] -eq ':0') { return }
    foreach ($line in $lines | Select-Object -SkipLast 1) {
        $value, $description = $line -split "`t", 2
        if (-not $description) { $description = $value }
        [System.Management.Automation.CompletionResult]::new($value, $value, 'ParameterValue', $description)
    }
}
