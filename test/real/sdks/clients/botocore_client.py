# A program as users write them: the SDK's default chain finds its credentials, and STS at the given endpoint says whose they are.
import json
import sys

import botocore.session

session = botocore.session.get_session()
sts = session.create_client("sts", region_name="eu-west-1", endpoint_url=sys.argv[1])
identity = sts.get_caller_identity()
credentials = session.get_credentials()
answer = {
    "account": identity["Account"],
    "arn": identity["Arn"],
    "accessKeyID": credentials.access_key,
    "expires": credentials.refresh_needed() is False,
}
sys.stdout.write(json.dumps(answer))
