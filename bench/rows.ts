import type { Row } from "./row.ts";
import { API_SERVER_ROWS } from "./rows/api-server.ts";
import { COLD_START_ROW } from "./rows/cold-start.ts";
import { COMMAND_ROWS } from "./rows/commands.ts";
import { FLEET_ROW } from "./rows/fleet.ts";
import { IDENTITIES_ROW } from "./rows/identities.ts";
import { INVENTORY_ROW } from "./rows/inventory.ts";
import { LIMITS_ROW } from "./rows/limits.ts";
import { MASS_CHANGE_ROW } from "./rows/mass-change.ts";
import { REVERSE_ROW } from "./rows/reverse.ts";
import { ROLE_MAP_ROW } from "./rows/role-map.ts";
import { SELECTORS_ROW } from "./rows/selectors.ts";
import { SIDECAR_ROWS } from "./rows/sidecar.ts";
import { TRUST_ROWS } from "./rows/trust.ts";
import { WEBHOOK_ROWS } from "./rows/webhook.ts";

/** All rows, in the order in which they are measured. The rows that fill the heap of this process come last. */
export const ROWS: readonly Row[] = [
  ...WEBHOOK_ROWS, ...SIDECAR_ROWS, COLD_START_ROW, ...COMMAND_ROWS, ROLE_MAP_ROW, ...API_SERVER_ROWS,
  MASS_CHANGE_ROW, FLEET_ROW, INVENTORY_ROW, LIMITS_ROW, SELECTORS_ROW, REVERSE_ROW, IDENTITIES_ROW, ...TRUST_ROWS,
];
