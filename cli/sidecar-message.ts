/**
 * Maps instructions for HTTP clients and SDKs, which messages of the sidecar contain, to instructions for users of
 * credential-process. The messages are in shared/decisions/grants, sidecar/http and sidecar/token.ts.
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

/** Matches a flag in a message of the sidecar, and any words that already state that it is a flag of the sidecar. */
const FLAG = /(the sidecar runs with |the sidecar's )?(--[a-z][a-z-]*)(?: of the sidecar)?/g;

/**
 * Adapts a message of the sidecar for a user of credential-process. Marks each flag in the message as a flag of the
 * sidecar. Replaces instructions about the HTTP request by instructions about flags of credential-process.
 */
export function responseForUser(message: string): string {
  const marked = message.replace(FLAG, (_, owner: string | undefined, flag: string) => (
    `${owner ?? "the sidecar's "}${flag}`
  ));
  return instructionsForUser(marked);
}

/**
 * Replaces the instructions in a message by instructions for a user of credential-process. Does not mark other flags in
 * the message.
 */
export function instructionsForUser(message: string): string {
  return INSTRUCTIONS.reduce((text, [forClients, forUser]) => text.replace(forClients, forUser), message);
}
