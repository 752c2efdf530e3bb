import { controllerIdentityTask } from "../capa/controller-identity.ts";
import type { StartTask } from "./leader-task.ts";
import { profileTask } from "./profile-events.ts";

/** Everything that only the leader does beside the annotations. */
export const TASKS: readonly StartTask[] = [controllerIdentityTask, profileTask];
