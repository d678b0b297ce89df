"""The example's tests. `pip install sapwood` brings the fixture: a table for each test, with a stream handler."""

from decimal import Decimal

import boto3
import pytest
from botocore.exceptions import ClientError
from folders import Folders


@pytest.fixture
def folders(sapwood):
    return Folders(boto3.resource("dynamodb", **sapwood.client_options).Table(sapwood.table))


@pytest.fixture
def drive(folders, sapwood):
    folders.put("drive")
    folders.put("team", "drive")
    folders.put("archive", "drive")
    folders.put("plans", "team", size=Decimal("12.5"))
    folders.put("2026", "plans")
    sapwood.catch_up()
    return folders


def ids(rows):
    return [row["_id"] for row in rows]


def test_each_question_is_a_query(drive):
    assert ids(drive.roots()) == ["drive"]
    assert ids(drive.children("drive")) == ["archive", "team"]
    assert ids(drive.levels("drive")) == ["archive", "team", "plans", "2026"]
    assert ids(drive.levels("drive", 2, 2)) == ["plans"]
    assert ids(drive.at("drive", "team")) == ["team", "plans", "2026"]
    assert drive.ancestors("2026") == ["plans", "team", "drive"]
    assert [row["size"] for row in drive.children("team")] == [Decimal("12.5")]


def test_a_move_takes_the_subtree_along(drive, sapwood):
    drive.move("plans", "archive")
    sapwood.catch_up()
    assert ids(drive.levels("team")) == []
    assert ids(drive.levels("archive")) == ["plans", "2026"]
    assert drive.ancestors("2026") == ["plans", "archive", "drive"]
    assert ids(drive.at("drive", "archive", "plans")) == ["plans", "2026"]


def test_a_move_of_nothing_is_rejected(drive):
    with pytest.raises(ClientError, match="ConditionalCheckFailed"):
        drive.move("missing", "archive")


def test_the_newest_revision_is_one_read(drive, sapwood):
    drive.note("plans", 1, text="first")
    drive.note("plans", 2, text="second")
    with pytest.raises(ClientError, match="ConditionalCheckFailed"):
        drive.note("plans", 2, text="another second")
    sapwood.catch_up()
    newest = drive.newest_note("plans")
    assert (newest["text"], newest["_version"]) == ("second", 2)


def test_a_list_of_many_pages(drive, sapwood):
    for number in range(40):
        drive.put(f"large-{number:02}", "archive", text="x" * 30_000)
    sapwood.catch_up(60)
    assert ids(drive.children("archive")) == [f"large-{number:02}" for number in range(40)]
