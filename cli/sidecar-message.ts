/**
 * Instructions in messages of the sidecar for HTTP clients and SDKs, and the same instructions for users of
 * credential-process. The sidecar creates these texts in shared/decisions/grants, sidecar/http and sidecar/token.ts.
 */
const INSTRUCTIONS: readonly (readonly [forClients: RegExp, forUser: string])[] = [
  [
    /^The Authorization header does not contain the token\. .*$/s,
    "The sidecar rejected the token. Set --token-file to the token file that the sidecar uses.",
  ],
  [/Allow the user of the sidecar to read/, "Allow this user to read"],
  [/Request one kind with kind=KIND\.VERSION\.GROUP at \S+,/, "Set --kind KIND.VERSION.GROUP,"],
  [/Request \S+ with label=KEY=VALUE for each label of the resource\./, "Set --label for each label of the resource."],
  [
    /Request the credentials of a namespace, (or run the controllers and the sidecar with )the sidecar's /,
    "Set --namespace and --kind instead of --selector, $1",
  ],
];

/** Matches a flag in a message of the sidecar, and the words that already say whose flag it is. */
const FLAG = /(the sidecar runs with |the sidecar's )?(--[a-z][a-z-]*)(?: of the sidecar)?/g;

/**
 * Returns a message of the sidecar for a user of credential-process. Marks each flag in the message as the sidecar's.
 * An instruction names the flag of credential-process instead of a part of the HTTP request.
 */
export function responseForUser(message: string): string {
  const marked = message.replace(FLAG, (_, owner: string | undefined, flag: string) => (
    `${owner ?? "the sidecar's "}${flag}`
  ));
  return instructionsForUser(marked);
}

/** Returns a message with instructions for a user of credential-process. The flags in the message are unchanged. */
export function instructionsForUser(message: string): string {
  return INSTRUCTIONS.reduce((text, [forClients, forUser]) => text.replace(forClients, forUser), message);
}
