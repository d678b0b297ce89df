"""A run: its steps, what came of them, and the removal of what it wrote."""

import os
import random
import re
import time
from contextlib import contextmanager
from datetime import datetime, timezone

from botocore.exceptions import BotoCoreError, ClientError

from parts import API_IDS, LAG_IDS, TABLE_IDS, lag, over_the_api, over_the_table, percentiles, read_only
from trouble import Differs
from world import REVISION, World, is_trace, led_to, shown

PREFIX = re.compile(r"smoke-[0-9]{8}T[0-9]{6}-[0-9a-f]{4}-")
# What is told of a long list of differences.
LINES_MAX = 20


class Run:
    """What is tried, what of it was right, and what failed."""

    def __init__(self, options, target):
        self.options, self.target, self.table, self.api = options, target, target.table, target.api
        stamp = datetime.now(timezone.utc).strftime("%Y%m%dT%H%M%S")
        self.prefix = options.clean or f"smoke-{stamp}-{random.randrange(65536):04x}-"
        self.patience = options.patience or 120
        # A new event source mapping takes minutes to begin.
        self.first_patience = options.patience or 300
        self.began, self.steps, self.failures, self.stopping = time.time(), 0, 0, False
        self.worlds = [World(self.prefix, ids, target.settings) for ids in (TABLE_IDS, API_IDS, LAG_IDS)]
        # The keys of the rows that stand under other ids than the run's.
        self.elsewhere = set()

    def look(self):
        """Writes nothing. Returns the exit code."""
        self.part(read_only, self)
        return self.verdict()

    def main(self):
        """Returns the exit code."""
        later = f"to remove what is left: python infra/smoke {self.target.words} --clean {self.prefix}"
        interrupted = False
        try:
            if not self.options.clean:
                self.story()
        except KeyboardInterrupt:
            interrupted = True
            print("interrupted: what was written is removed")
        try:
            if not self.clean():
                print(later)
        except KeyboardInterrupt:
            print(later)
            return 130
        units = self.table.units
        print(f"    {self.table.requests:,} requests to the table used {units['write']:,.0f} write units and {units['read']:,.0f} read units,"
              " without the handler's and the API's")
        if interrupted:
            return 130
        if self.options.metrics:
            self.target.say_metrics(self.began, units["write"])
        return self.verdict()

    def verdict(self):
        if self.failures:
            print(f"FAILED: {self.failures} of {self.failures + self.steps} steps")
            return 1
        print(f"all right: {self.steps} steps, {time.time() - self.began:.0f} s")
        return 0

    def story(self):
        right = []
        parts = (over_the_table, "the table"), (over_the_api, "the API"), (lag, "the lag")
        for (part, words), world in zip(parts, self.worlds):
            if part == over_the_api and not self.api:
                print("the API isn't tried" + ("" if self.options.no_api else ": give --api URL"))
            elif self.nothing_came():
                print(f"{words} isn't tried: it would fail the same way")
            elif self.part(part, self, world):
                right.append(world)
        if right:
            self.part(self.everything, right)
        if self.nothing_came():
            self.target.say_what_the_mapping_does()
        if self.api and self.api.milliseconds:
            print(f"    {len(self.api.milliseconds)} requests to the API: {percentiles(self.api.milliseconds)}")

    def nothing_came(self):
        """Whether the first step has failed."""
        return self.failures and not self.steps

    def part(self, story, *given):
        """Runs a part to its first failure. Returns whether there is none."""
        try:
            story(*given)
            return True
        except Exception as trouble:
            # Whatever it is: what was written must be removed.
            self.failures += 1
            self.tell(trouble)
            return False

    def tell(self, trouble):
        print("    " + (str(trouble) if isinstance(trouble, (Differs, BotoCoreError, ClientError)) else repr(trouble)))
        lines = getattr(trouble, "lines", [])
        for line in lines[:LINES_MAX]:
            print(f"      {line[:1000]}")
        if len(lines) > LINES_MAX:
            print(f"      and {len(lines) - LINES_MAX} more")

    @contextmanager
    def step(self, words):
        """Prints a line: what is tried, what came of it, and how long it took."""
        print(words, end=" ... ", flush=True)
        began, result = time.monotonic(), "FAILED"
        try:
            yield
            self.steps, result = self.steps + 1, "ok"
        except KeyboardInterrupt:
            result = "interrupted"
            raise
        finally:
            print(f"{result} ({time.monotonic() - began:.1f} s)", flush=True)

    def settle(self, world, patience=None):
        """Waits until the table holds what it must."""
        # The ids of one part begin as those of no other part do.
        prefix = os.path.commonprefix(world.ids)
        world.elsewhere |= world.stray()
        self.wait(
            lambda: world.differences(self.table.collect(world.ids, prefix, world.elsewhere)),
            "differences",
            patience or self.patience,
        )

    def wait(self, look, words, patience):
        """Waits until there are no lines."""
        until, pause = time.monotonic() + patience, 0.1
        while lines := look():
            if time.monotonic() > until:
                raise Differs(f"{len(lines)} {words} after {patience:.0f} s", lines)
            time.sleep(pause)
            pause = min(1.5 * pause, 2)

    def everything(self, worlds):
        with self.step("nothing is missing, left over or wrong at the end"):
            for world in worlds:
                self.settle(world)

    def clean(self):
        """Removes what the run has written. Returns whether nothing is left."""
        self.elsewhere = set().union(*(world.elsewhere for world in self.worlds))
        self.part(self.delete_records)
        return self.part(self.delete_the_rest)

    def delete_records(self):
        """Deletes the base records, and waits until the handler has deleted their rows."""
        node = self.target.settings["NodeSortKey"]
        records = [key for key in self.left() if key[1] == node or REVISION.fullmatch(key[1])]
        with self.step(f"the run's {len(records)} base records are deleted, and their rows go"):
            self.table.write(deletes=records)
            # Rows that never came needn't be waited for long.
            patience = min(10, self.patience) if self.nothing_came() else self.patience
            self.wait(self.rows, "items are still there", patience)

    def rows(self):
        return [f"left over {shown(key)}" for key, item in sorted(self.left().items()) if not is_trace(key, item)]

    def delete_the_rest(self):
        """Deletes what the API keeps for a while, and, after a failure, what the handler has left."""
        with self.step("nothing of the run is left in the table"):
            for _ in range(5):
                self.table.write(deletes=self.left())
                # The handler may have been at work just then.
                time.sleep(1)
                if not (found := self.left()):
                    return
            raise Differs(f"{len(found)} items are left", map(shown, sorted(found)))

    def left(self):
        """All items of the run."""
        ids = [id for world in self.worlds for id in world.ids]
        found = self.table.collect(ids, self.prefix, self.elsewhere, operations=True)
        # What this run hasn't written, or not yet, when it was cut off.
        if more := led_to(found, ids, self.target.settings) - self.elsewhere:
            self.elsewhere |= more
            found |= self.table.collect([], self.prefix, more)
        return found
