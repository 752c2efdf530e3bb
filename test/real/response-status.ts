import type { ClientRequest, IncomingMessage } from "node:http";

/**
 * Returns the HTTP status of a sent request after the whole response has arrived, or the system error code if no
 * response arrives.
 */
export async function statusOf(sent: ClientRequest): Promise<number | string> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  sent.once("response", resolve).once("error", reject);
  try {
    const response = await promise;
    await response.resume().toArray();
    return response.statusCode ?? 0;
  } catch (error) {
    return error instanceof Error && "code" in error ? String(error.code) : "unknown";
  }
}
