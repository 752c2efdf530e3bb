import https, { type AgentOptions } from "node:https";

/**
 * Returns the options of an HTTPS agent that uses the proxy in HTTPS_PROXY if NODE_USE_ENV_PROXY is 1, like the global
 * agent of Node.js. The AWS SDK creates its own agents, which ignore both variables.
 */
export function proxyOptions(): AgentOptions {
  const { proxyEnv } = https.globalAgent.options;
  return proxyEnv === undefined ? {} : { proxyEnv };
}
