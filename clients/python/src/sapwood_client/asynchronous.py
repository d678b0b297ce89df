"""The client for asyncio. Each request is sent by a thread of the event loop's own executor."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any

from .call import Answer, AsyncPages
from .client import Sapwood
from .models import ChangesBody
from .operations import AsyncOperations


class AsyncSapwood(AsyncOperations):
    """`Sapwood` with methods to be awaited: `AsyncSapwood(Sapwood(url))`. A request that nobody waits for any more goes on to its end."""

    def __init__(self, client: Sapwood) -> None:
        self._client = client

    def session(self, wait: int = 5) -> "AsyncSapwood":
        """As `Sapwood.session`."""
        return AsyncSapwood(self._client.session(wait))

    async def count(self, id: str, *, min_depth: int | None = None, max_depth: int | None = None) -> int:
        """As `Sapwood.count`."""
        return await asyncio.to_thread(self._client.count, id, min_depth=min_depth, max_depth=max_depth)

    async def follow(self, root: str, *, cursor: str | None = None, wait: int | None = None, every: float = 10) -> AsyncIterator[ChangesBody]:
        """As `Sapwood.follow`."""
        while True:
            page: ChangesBody = (await self._call("list_changes", {"id": root}, {"cursor": cursor, "wait": wait}, None)).body
            cursor = page["cursor"]
            yield page
            if not page["has_more"]:
                await asyncio.sleep(every)

    async def done(self, begun: str | Answer[Any], timeout: float = 60) -> None:
        """As `Sapwood.done`."""
        await asyncio.to_thread(self._client.done, begun, timeout)

    async def placed(self, id: str, *, below: bool = False, timeout: float = 60) -> None:
        """As `Sapwood.placed`."""
        await asyncio.to_thread(self._client.placed, id, below=below, timeout=timeout)

    async def _call(self, name: str, path: Mapping[str, str | int], parameters: Mapping[str, Any], body: Any) -> Answer[Any]:
        return await asyncio.to_thread(self._client._call, name, path, parameters, body)

    def _list(self, name: str, path: Mapping[str, str | int], parameters: Mapping[str, Any], body: Any) -> AsyncPages[Any, Any]:
        return AsyncPages(self._client._list(name, path, parameters, body))
