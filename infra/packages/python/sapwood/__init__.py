"""A Sapwood stack for tests: DynamoDB with a table, its stream handler and the HTTP API, in one process of its own.

With pytest, ask for the fixture `sapwood`: each test gets an empty table. Elsewhere:

    with sapwood.Stack() as stack:
        boto3.client("dynamodb", **stack.client_options).put_item(TableName=stack.table, Item=...)
        stack.catch_up()
"""

from .binary import find_binary
from .stack import NotCaughtUp, NotStarted, Stack

__all__ = ["NotCaughtUp", "NotStarted", "Stack", "find_binary"]
