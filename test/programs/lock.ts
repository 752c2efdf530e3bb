import { DatabaseSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";

const SQLITE_BUSY = 5;
const RETRY_MS = 100;

/**
 * Runs `body` while no other process, and no other call in this process, holds the lock of the same file. The kernel
 * releases the lock when its process ends, even by SIGKILL. Node.js has no function that locks a file, but SQLite locks
 * its database with one.
 */
export async function withLock(file: string, body: () => Promise<void>): Promise<void> {
  const database = new DatabaseSync(file);
  try {
    while (!tryLock(database)) await delay(RETRY_MS);
    await body();
  } finally {
    database.close();
  }
}

function tryLock(database: DatabaseSync): boolean {
  try {
    // With its journal in memory, SQLite creates no second file.
    database.exec("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
    return true;
  } catch (error) {
    if (error instanceof Error && "errcode" in error && error.errcode === SQLITE_BUSY) return false;
    throw error;
  }
}
