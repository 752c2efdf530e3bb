# A program that uses the default chain of botocore, as users write it. Prints JSON, or the error of the SDK on standard
# error with exit code 1.
import datetime
import json
import sys

import botocore.session

REGION = "eu-west-1"
SESSION = botocore.session.get_session()


def whoami(endpoint):
    sts = SESSION.create_client("sts", region_name=REGION, endpoint_url=endpoint)
    identity = sts.get_caller_identity()
    credentials = SESSION.get_credentials()
    return {
        "account": identity["Account"],
        "arn": identity["Arn"],
        "accessKeyID": credentials.access_key,
        "expires": expiration_of(credentials) is not None,
    }


def retrieve(times):
    return [retrieve_once() for _ in range(int(times))]


def retrieve_once():
    credentials = SESSION.get_credentials()
    if credentials is None:
        raise RuntimeError("Unable to locate credentials")
    frozen = credentials.get_frozen_credentials()
    return {"accessKeyID": frozen.access_key, "accountID": frozen.account_id, "expiration": expiration_of(credentials)}


def assume(role_arn, session_name):
    sts = SESSION.create_client("sts", region_name=REGION)
    identity = sts.get_caller_identity()
    session = sts.assume_role(RoleArn=role_arn, RoleSessionName=session_name, DurationSeconds=900)
    return {
        "identity": {"account": identity["Account"], "arn": identity["Arn"]},
        "assumed": {
            "arn": session["AssumedRoleUser"]["Arn"],
            "accessKeyID": session["Credentials"]["AccessKeyId"],
            "expiration": timestamp(session["Credentials"]["Expiration"]),
        },
    }


# botocore has no public expiration.
def expiration_of(credentials):
    expiry = getattr(credentials, "_expiry_time", None)
    return None if expiry is None else timestamp(expiry)


def timestamp(at):
    return at.astimezone(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


try:
    mode, *arguments = sys.argv[1:]
    sys.stdout.write(json.dumps({"whoami": whoami, "retrieve": retrieve, "assume": assume}[mode](*arguments)))
except Exception as error:
    sys.stderr.write(f"{type(error).__name__}: {error}\n")
    sys.exit(1)
