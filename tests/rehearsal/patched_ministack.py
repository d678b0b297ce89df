"""ministack 1.5.33, with two things that AWS does and it doesn't:

- a PartiQL update or deletion makes a stream record;
- a function's log has all lines of a run. ministack gathers them for 5 ms after the last that it has read, and what comes later goes to the log
  of the next run, if there is one. On a busy machine that is often so.
"""

import copy
import fcntl
import struct
import termios
import time

from ministack.app import main
from ministack.core import lambda_runtime
from ministack.services import dynamodb

update, delete = dynamodb._partiql_update, dynamodb._partiql_delete

# In seconds: how long nothing comes from a process with an empty pipe until all its lines are there, and how long one waits at most.
SILENCE = 0.03
LONGEST = 10


def update_with_record(table, parsed, data=None):
    pk, sk, _, error = dynamodb._partiql_key_target(table, parsed)
    before = None if error else copy.deepcopy(table["items"].get(pk, {}).get(sk))
    answer = update(table, parsed, data)
    if answer[0] == 200 and before != table["items"][pk][sk]:
        dynamodb._emit_stream_event(parsed["table"], "MODIFY", before, table["items"][pk][sk])
    return answer


def delete_with_record(table, parsed, data=None):
    pk, sk, _, error = dynamodb._partiql_key_target(table, parsed)
    before = None if error else copy.deepcopy(table["items"].get(pk, {}).get(sk))
    answer = delete(table, parsed, data)
    if before is not None and table["items"].get(pk, {}).get(sk) is None:
        dynamodb._emit_stream_event(parsed["table"], "REMOVE", before, None)
    return answer


def holds_bytes(pipe):
    """Whether a process has written what ministack's thread hasn't read. A pipe that is closed holds none."""
    try:
        return struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)))[0] > 0
    except (OSError, ValueError):
        return False


def all_lines(worker, **_):
    process, lines = worker._proc, []
    pipe = process and (process.stderr or process.stdout)
    started = quiet = time.monotonic()
    while (now := time.monotonic()) - quiet < SILENCE and now - started < LONGEST:
        line = worker._drain_stderr()
        if line:
            lines.append(line)
        if line or (pipe and holds_bytes(pipe)):
            quiet = now
        time.sleep(0.001)
    return "\n".join(lines)


if __name__ == "__main__":
    dynamodb._partiql_update, dynamodb._partiql_delete = update_with_record, delete_with_record
    lambda_runtime.Worker._drain_stderr_bounded = all_lines
    main()
