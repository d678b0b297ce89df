"""ministack, with a stream record for each PartiQL update, as DynamoDB makes one. ministack 1.5.33 makes none."""

import copy

from ministack.app import main
from ministack.services import dynamodb

update = dynamodb._partiql_update


def update_with_record(table, parsed, data=None):
    pk, sk, _, error = dynamodb._partiql_key_target(table, parsed)
    before = None if error else copy.deepcopy(table["items"].get(pk, {}).get(sk))
    answer = update(table, parsed, data)
    if answer[0] == 200 and before != table["items"][pk][sk]:
        dynamodb._emit_stream_event(parsed["table"], "MODIFY", before, table["items"][pk][sk])
    return answer


if __name__ == "__main__":
    dynamodb._partiql_update = update_with_record
    main()
