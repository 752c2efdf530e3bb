import type { KubernetesAPI } from "./api.ts";

/** The API server sent a response body that exceeds the limit. */
export class BodyTooLarge extends Error {}

/** Returns a client whose response bodies throw BodyTooLarge after `bytes` bytes. */
export function limitedAPI(api: KubernetesAPI, bytes: number): KubernetesAPI {
  return {
    async request(request) {
      const response = await api.request(request);
      return { ...response, body: limitedBody(response.body, bytes) };
    },
  };
}

async function* limitedBody(body: AsyncIterable<Buffer>, bytes: number): AsyncGenerator<Buffer> {
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > bytes) throw new BodyTooLarge(`the response body has more than ${bytes} bytes`);
    yield chunk;
  }
}
