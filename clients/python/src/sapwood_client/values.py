"""Values as JSON (docs/reference/http-conventions.md, "Values"): sets, bytes and numbers of up to 38 digits have forms of their own.

Numbers with a fraction are read as `Decimal`, so that none of their digits is lost.
"""

import base64
import json
from decimal import Decimal
from typing import Any


def dumps(value: Any) -> bytes:
    """The JSON of a value that may hold sets, bytes and decimals."""
    return json.dumps(_written(value), allow_nan=False, ensure_ascii=False, separators=(",", ":")).encode()


def loads(text: bytes) -> Any:
    """The value of a JSON text."""
    return _read(json.loads(text, parse_float=Decimal))


def _written(value: Any) -> Any:
    match value:
        case dict():
            written = {key: _written(one) for key, one in value.items()}
            # A map that looks like one of these forms is none.
            return {"$map": written} if len(value) == 1 and next(iter(value)).startswith("$") else written
        case list() | tuple():
            return [_written(one) for one in value]
        case set() | frozenset():
            return {"$set": [_written(one) for one in value]}
        case bytes() | bytearray():
            return {"$binary": base64.b64encode(value).decode()}
        case Decimal():
            return {"$number": str(value)}
    return value


def _read(value: Any) -> Any:
    match value:
        case {"$map": dict(plain), **rest} if not rest:
            return {key: _read(one) for key, one in plain.items()}
        case {"$set": list(items), **rest} if not rest:
            return {_read(item) for item in items}
        case {"$binary": str(text), **rest} if not rest:
            return base64.b64decode(text)
        case {"$number": str(digits), **rest} if not rest:
            return Decimal(digits)
        case dict():
            return {key: _read(one) for key, one in value.items()}
        case list():
            return [_read(one) for one in value]
    return value
