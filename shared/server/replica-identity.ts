import { randomUUID } from "node:crypto";
import { hostname } from "node:os";

/** The unique name of this replica, in Leases and Events. In a Pod, it starts with the name of the Pod. */
export const REPLICA_IDENTITY = `${hostname()}_${randomUUID()}`;
