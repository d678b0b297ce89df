"""The plugin for pytest. pytest finds it by itself where the package is installed.

    def test_a_folder_is_below_its_drive(sapwood):
        ...                                  # sapwood.dynamodb, sapwood.api, sapwood.client_options
        sapwood.catch_up()

    @pytest.mark.sapwood(OrderAttribute="rank")
    def test_children_have_an_order(sapwood): ...
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .stack import Stack

_STACK = pytest.StashKey[Stack]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini("sapwood_parameters", "Parameters of every stack, a line each: OrderAttribute=rank", type="linelist")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "sapwood(**parameters): parameters of the stack of these tests, for example OrderAttribute='rank'")


@pytest.fixture
def sapwood(request: pytest.FixtureRequest) -> Iterator[Stack]:
    """A stack with an empty table, for this test alone."""
    parameters: dict[str, object] = {}
    for line in request.config.getini("sapwood_parameters"):
        name, equals, value = line.partition("=")
        if not equals:
            raise pytest.UsageError(f"sapwood_parameters: write {line} as NAME=VALUE")
        parameters[name.strip()] = value.strip()
    # The marker of the test itself comes first, and has the last word.
    for marker in reversed(list(request.node.iter_markers("sapwood"))):
        parameters |= marker.kwargs
    with Stack(parameters) as stack:
        request.node.stash[_STACK] = stack
        yield stack


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Shows what the stack has printed beside a test that fails."""
    report: pytest.TestReport = yield  # type: ignore[assignment]
    if report.when == "call" and report.failed and (stack := item.stash.get(_STACK, None)):
        report.sections.append(("sapwood dev", stack.log))
    return report  # type: ignore[return-value]
