// A second opinion on identity policies: moto, which enforces them for calls of IAM users.
import { test, type Test } from "tap";
import { answer } from "../../shared/trust/trust-question.ts";
import { send } from "../loopback-request.ts";
import { MOTO, wheelsIn } from "../programs/wheels.ts";
import { dataOf, document, exportOf, roleDetail } from "../shared/trust/iam-export.ts";
import { allow, type Fields } from "../shared/trust/trust-cases.ts";
import { assumeBody, elementOf, signed, type VendedKeys } from "../sidecar/sts/signed-request.ts";
import { findPrograms } from "./find-programs.ts";
import { startMoto } from "./sdks/moto.ts";

const ACCOUNT = "123456789012";
const ROLE = `arn:aws:iam::${ACCOUNT}:role/ack/target`;
const DENY = { Effect: "Deny", Action: "sts:AssumeRole", Resource: "*" };

/** The statements of the policies of one user, by how the user has them. */
interface Policies {
  readonly inline?: readonly Fields[];
  readonly attached?: readonly Fields[];
  readonly group?: readonly Fields[];
}

function on(resource: unknown, fields: Fields = {}): Policies {
  return { inline: [{ Effect: "Allow", Action: "sts:AssumeRole", Resource: resource, ...fields }] };
}

/** moto implements no conditions in identity policies, no NotResource and no boundaries. */
const CASES: readonly Policies[] = [
  {}, on(ROLE), on("*"), on(["arn:aws:s3:::x", ROLE]), on(`arn:aws:iam::${ACCOUNT}:role/ack/*`),
  on(`arn:aws:iam::${ACCOUNT}:role/target`), on(`arn:aws:iam::${ACCOUNT}:role/ack/Target`),
  on(`arn:aws:iam::${ACCOUNT}:role/ack/target2`), on("arn:aws:iam::*:role/*"), on("arn:aws:iam::111122223333:role/*"),
  on(ROLE, { Action: "sts:*" }), on(ROLE, { Action: "*" }), on(ROLE, { Action: ["s3:*", "sts:Assume*"] }),
  on(ROLE, { Action: "sts:TagSession" }), on(ROLE, { Action: "sts:AssumeRoleWith*" }), on(ROLE, { Action: "s3:*" }),
  { inline: [{ Effect: "Allow", NotAction: "s3:*", Resource: "*" }] },
  { inline: [{ Effect: "Allow", NotAction: ["sts:*"], Resource: "*" }] },
  { inline: [{ Effect: "Allow", Action: "*", Resource: "*" }, DENY] },
  { inline: [DENY, { Effect: "Allow", Action: "*", Resource: "*" }] },
  { inline: [{ Effect: "Allow", Action: "*", Resource: "*" }, { ...DENY, Action: "sts:TagSession" }] },
  { inline: [{ Effect: "Allow", Action: "*", Resource: "*" }, { ...DENY, Resource: `${ROLE}2` }] },
  { attached: [{ Effect: "Allow", Action: "sts:*", Resource: ROLE }] },
  { group: [{ Effect: "Allow", Action: "sts:*", Resource: ROLE }] },
  { ...on(ROLE), attached: [DENY] }, { ...on(ROLE), group: [DENY] },
  { attached: [{ Effect: "Allow", Action: "s3:*", Resource: "*" }], group: [{ ...DENY, Action: "s3:*" }], ...on(ROLE) },
];

/** A moto without state, whose first calls are not authorized. */
class Moto {
  readonly #url: string;
  constructor(url: string) {
    this.#url = url;
  }

  /** Calls IAM and returns the XML. */
  async iam(action: string, parameters: Readonly<Record<string, string>>): Promise<string> {
    const body = new URLSearchParams({ Action: action, Version: "2010-05-08", ...parameters }).toString();
    const administrator = { AccessKeyId: "AKIAEXAMPLEEXAMPLE00", SecretAccessKey: "example", Token: "" };
    const { status, body: xml } = await this.#call("iam", body, administrator);
    if (status !== 200) throw new Error(`${action}: ${xml}`);
    return xml;
  }

  /** Starts to authorize calls. */
  async enforce(): Promise<void> {
    await send(`${this.#url}/moto-api/reset-auth`, { method: "POST", body: "0" });
  }

  /** Whether AssumeRole succeeds. Throws unless it does or is denied. */
  async canAssume(keys: VendedKeys): Promise<boolean> {
    const { status, body } = await this.#call("sts", assumeBody({ RoleArn: ROLE }), keys);
    if (status !== 200 && elementOf(body, "Code") !== "AccessDenied") throw new Error(body);
    return status === 200;
  }

  async #call(service: string, body: string, keys: VendedKeys): ReturnType<typeof send> {
    const headers = { host: new URL(this.#url).host };
    const request = await signed({ keys, now: Date.now(), path: "/", service, region: "us-east-1", headers, body });
    return await send(`${this.#url}/`, { method: "POST", headers: request.headers, body: request.payload });
  }
}

function text(...statements: readonly Fields[]): string {
  return JSON.stringify(document(...statements));
}

/** Creates a user with the policies. Returns its keys. */
async function createUser(moto: Moto, name: string, { inline, attached, group }: Policies): Promise<VendedKeys> {
  const UserName = name;
  await moto.iam("CreateUser", { UserName });
  if (inline !== undefined) {
    await moto.iam("PutUserPolicy", { UserName, PolicyName: "inline", PolicyDocument: text(...inline) });
  }
  if (attached !== undefined) {
    const xml = await moto.iam("CreatePolicy", { PolicyName: name, PolicyDocument: text(...attached) });
    await moto.iam("AttachUserPolicy", { UserName, PolicyArn: elementOf(xml, "Arn") ?? "" });
  }
  if (group !== undefined) {
    await moto.iam("CreateGroup", { GroupName: name });
    await moto.iam("PutGroupPolicy", { GroupName: name, PolicyName: "group", PolicyDocument: text(...group) });
    await moto.iam("AddUserToGroup", { GroupName: name, UserName });
  }
  const xml = await moto.iam("CreateAccessKey", { UserName });
  const [id, secret] = ["AccessKeyId", "SecretAccessKey"].map((element) => elementOf(xml, element) ?? "");
  return { AccessKeyId: id ?? "", SecretAccessKey: secret ?? "", Token: "" };
}

/** Returns our verdict. The trust policy names the account, so that the identity policies decide. */
function verdict({ inline = [], attached = [], group = [] }: Policies): string {
  const user = `arn:aws:iam::${ACCOUNT}:user/u`;
  const policy = `arn:aws:iam::${ACCOUNT}:policy/p`;
  const data = dataOf(exportOf({
    RoleDetailList: [roleDetail(ROLE, document(allow({ AWS: ACCOUNT })))],
    UserDetailList: [{
      Arn: user, UserId: "AIDAEXAMPLEEXAMPLE01", GroupList: ["g"], AttachedManagedPolicies: [{ PolicyArn: policy }],
      UserPolicyList: [{ PolicyName: "inline", PolicyDocument: document(...inline) }],
    }],
    GroupDetailList: [{
      Arn: `arn:aws:iam::${ACCOUNT}:group/g`,
      GroupPolicyList: [{ PolicyName: "g", PolicyDocument: document(...group) }],
    }],
    Policies: [{ Arn: policy, PolicyVersionList: [{ IsDefaultVersion: true, Document: document(...attached) }] }],
  }));
  const parameters = {
    externalID: null, sourceIdentity: null, sessionName: null, durationSeconds: null, tags: new Map(),
    transitiveTagKeys: [],
  };
  return answer({ principalARN: user, roleARN: ROLE, parameters }, data, 0).verdict;
}

async function compare(t: Test, moto: Moto): Promise<void> {
  // moto does not compare a user with the account, so its trust policy lets everyone in.
  const trust = text(allow({ AWS: "*" }));
  await moto.iam("CreateRole", { RoleName: "target", Path: "/ack/", AssumeRolePolicyDocument: trust });
  const users: { readonly policies: Policies; readonly keys: VendedKeys }[] = [];
  for (const [i, policies] of CASES.entries()) {
    users.push({ policies, keys: await createUser(moto, `user-${i}`, policies) });
  }
  await moto.enforce();
  const answers = await Promise.all(users.map(({ keys }) => moto.canAssume(keys)));
  t.equal(new Set(answers).size, 2, "moto allows some users and denies others");
  for (const [i, { policies }] of users.entries()) {
    t.equal(verdict(policies), answers[i] === true ? "yes" : "no", JSON.stringify(policies));
  }
}

test("identity policies have the same verdicts as in moto", async (t) => {
  const folders = await findPrograms(t, MOTO);
  if (folders === null) return;
  await compare(t, new Moto(await startMoto(t, await wheelsIn(folders[0]))));
});
