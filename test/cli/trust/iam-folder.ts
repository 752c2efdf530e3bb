import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { document, exportOf, roleDetail } from "../../shared/trust/iam-export.ts";
import { APP, type Fields, grant } from "../../shared/trust/trust-cases.ts";

const STS = { RolePolicyList: [{ PolicyName: "sts", PolicyDocument: document(grant()) }] };

export function roleARN(name: string): string {
  return `arn:aws:iam::444455556666:role/${name}`;
}

/** Returns an IAMRoleSelector of the role and the namespace with its name. */
export function selectorOf(name: string, metadata: Fields = {}): Fields {
  return {
    apiVersion: "services.k8s.aws/v1alpha1", kind: "IAMRoleSelector", metadata: { name, ...metadata },
    spec: { arn: roleARN(name), namespaceSelector: { names: [name] } },
  };
}

/** A temporary folder of exports and manifests. */
export class IAMFolder {
  readonly path = mkdtempSync(path.join(tmpdir(), "iam-"));

  /** Writes objects, which are YAML documents or a JSON value, and returns the path of the file. */
  write(name: string, ...objects: readonly unknown[]): string {
    const file = path.join(this.path, name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, objects.map((object) => JSON.stringify(object)).join("\n---\n"));
    return file;
  }

  /** Writes an export of the caller APP, which may call STS, and one of roles with a statement each. */
  exports(statements: Readonly<Record<string, Fields>>): { readonly roles: string; readonly caller: string } {
    const roles = Object.entries(statements).map(([name, one]) => roleDetail(roleARN(name), document(one)));
    return {
      roles: this.write("roles.json", exportOf({ RoleDetailList: roles })),
      caller: this.write("caller.json", exportOf({ RoleDetailList: [roleDetail(APP, document(), STS)] })),
    };
  }
}
