"""Writes the types and the calls of docs/openapi.json: src/sapwood_client/models.py and operations.py. What the document says of a call is the
method's comment. `build_backend.py` runs it when the package is built."""

import json
import keyword
import textwrap
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PACKAGE = HERE / "src" / "sapwood_client"
DOCUMENT = HERE.parents[1] / "docs" / "openapi.json"
# The page for people, the document itself, and a call whose path has any number of segments: `list_paths` does the same.
LEFT_OUT = {"get_docs", "get_openapi", "list_paths_by_url"}
PLAIN = {"string": "str", "integer": "int", "number": "int | Decimal", "boolean": "bool", "null": "None"}

Schema = dict[str, Any]


def named(reference: str) -> str:
    return reference.rpartition("/")[2].replace("_", "")


def annotation(schema: Schema) -> str:
    """The type of a value."""
    if "$ref" in schema:
        return named(schema["$ref"])
    if "enum" in schema:
        return f"Literal[{', '.join(map(repr, schema['enum']))}]"
    if "oneOf" in schema:
        return " | ".join(map(annotation, schema["oneOf"]))
    kinds = schema.get("type", [])
    parts = [of_kind(kind, schema) for kind in ([kinds] if isinstance(kinds, str) else kinds)]
    return " | ".join(parts) or "Any"


def of_kind(kind: str, schema: Schema) -> str:
    if kind == "array":
        return f"list[{annotation(schema['items'])}]"
    if kind == "object":
        values = schema.get("additionalProperties", True)
        return f"dict[str, {annotation(values) if isinstance(values, dict) else 'Any'}]"
    return PLAIN[kind]


def comment(text: str, indent: str) -> str:
    lines = [line for paragraph in text.split("\n") for line in (textwrap.wrap(paragraph, 120 - len(indent)) or [""])]
    return "\n".join(f"{indent}{line}".rstrip() for line in lines).replace("\\", "\\\\").replace('"""', "'''")


def docstring(text: str, indent: str = "    ") -> str:
    return f'{indent}"""{comment(text, indent).lstrip()}"""'


def model(name: str, schema: Schema) -> str:
    if "properties" not in schema:
        return f"{named(name)}: TypeAlias = {annotation(schema)!r}"
    required = set(schema.get("required", []))
    fields = {key: annotation(field) for key, field in schema["properties"].items()}
    fields = {key: kind if key in required else f"NotRequired[{kind}]" for key, kind in fields.items()}
    if any(map(keyword.iskeyword, fields)):
        written = ", ".join(f'"{key}": "{kind}"' for key, kind in fields.items())
        return f'{named(name)} = TypedDict("{named(name)}", {{{written}}})'
    lines = [f"class {named(name)}(TypedDict):", docstring(schema.get("description", named(name))), ""]
    for key, kind in fields.items():
        lines += [f"    {key}: {kind}", *([docstring(about)] if (about := schema["properties"][key].get("description")) else [])]
    return "\n".join(lines)


def parameter(name: str) -> str:
    return f"{name}_" if keyword.iskeyword(name) else name


def of_query(schema: Schema) -> str:
    # A list of one may be given as the one.
    found = annotation(schema)
    return "str | Sequence[str]" if found == "list[str]" else found


def calls() -> list[Schema]:
    document = json.loads(DOCUMENT.read_text())
    found = [{"path": path, "method": method.upper(), **call} for path, methods in document["paths"].items() for method, call in methods.items()]
    return [call for call in found if call["operationId"] not in LEFT_OUT]


def answer(call: Schema) -> str | None:
    for status, response in call["responses"].items():
        if status.startswith("2") and (content := response.get("content")):
            return str(content["application/json"]["schema"]["$ref"])
    return None


def operation(call: Schema) -> tuple[str, str, str, str]:
    """A line of the table, the type of the call's parameters, its method, and that of the asynchronous client."""
    id, given = call["operationId"], call.get("parameters", [])
    in_path = [one for one in given if one["in"] == "path"]
    query = [one for one in given if one["in"] == "query"]
    has = {one["name"] for one in given}
    body = call.get("requestBody")
    content = next(iter(body["content"].items())) if body else None
    needed = [one for one in query if one.get("required")]
    wanted = [one for one in query if not one.get("required")]
    line = f'    "{id}": Operation("{call["method"]}", "{call["path"]}", {"Idempotency-Key" in has}, {"written" in has}, {"consistent" in has}, {content and content[0]!r}),'

    type_name = "".join(map(str.title, id.split("_"))) + "Parameters"
    lines = [f"class {type_name}(CallOptions, total=False):", docstring(f"What can be said with `{id}`.")]
    for one in wanted:
        lines += [f"    {parameter(one['name'])}: {of_query(one['schema'])}", docstring(one["description"])]
    options, parameters = (type_name, "\n".join(lines)) if wanted else ("CallOptions", "")

    signature = ["self", *(f"{one['name']}: {annotation(one['schema'])}" for one in in_path)]
    if content:
        signature.append(f"body: {named(content[1]['schema']['$ref'])}" + ("" if body and body.get("required") else " | None = None"))
    signature += [f"{one['name']}: {of_query(one['schema'])}" for one in needed]
    signature.append(f"**parameters: Unpack[{options}]")
    reference = answer(call)
    result = named(reference) if reference else "None"
    listed = reference is not None and (named(reference).startswith("Page") or named(reference) == "NodesBody")
    item = {"NodesBody": "NodeBody"}.get(result, result.removeprefix("Page"))
    returned = f"Pages[{result}, {item}]" if listed else f"Answer[{result}]"
    path = "{" + ", ".join(f'"{one["name"]}": {one["name"]}' for one in in_path) + "}"
    asked = "{" + "".join(f'"{one["name"]}": {one["name"]}, ' for one in needed) + "**parameters}"
    sent = ("body or {}" if body and not body.get("required") else "body") if content else "None"
    about = "\n\n".join(text for text in (call.get("summary"), call.get("description")) if text)
    asks = f'self._{"list" if listed else "call"}("{id}", {path}, {asked}, {sent})'
    method = "\n".join([
        f"    def {id}({', '.join(signature)}) -> {returned}:",
        docstring(about, " " * 8),
        f"        return {asks}",
    ])
    awaited = "\n".join([
        f"    {'' if listed else 'async '}def {id}({', '.join(signature)}) -> {'Async' if listed else ''}{returned}:",
        docstring(f"As `Operations.{id}`.", " " * 8),
        f"        return {'' if listed else 'await '}{asks}",
    ])
    return line, parameters, method, awaited


MODELS = '''"""The types of the API's bodies. Made of docs/openapi.json by generate.py."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Literal, NotRequired, TypeAlias, TypedDict

{models}
'''
OPERATIONS = '''"""The calls of the API. Made of docs/openapi.json by generate.py."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Unpack

from .call import Answer, AsyncPages, CallOptions, Operation, Pages
from .models import *

OPERATIONS = {{
{table}
}}


{parameters}


class Operations:
    """A method for each call of the API."""

    def _call(self, name: str, path: Mapping[str, str | int], parameters: Mapping[str, Any], body: Any) -> Answer[Any]:
        raise NotImplementedError

    def _list(self, name: str, path: Mapping[str, str | int], parameters: Mapping[str, Any], body: Any) -> Pages[Any, Any]:
        raise NotImplementedError

{methods}


class AsyncOperations:
    """A method for each call of the API, to be awaited."""

    async def _call(self, name: str, path: Mapping[str, str | int], parameters: Mapping[str, Any], body: Any) -> Answer[Any]:
        raise NotImplementedError

    def _list(self, name: str, path: Mapping[str, str | int], parameters: Mapping[str, Any], body: Any) -> AsyncPages[Any, Any]:
        raise NotImplementedError

{awaited}
'''


def main() -> None:
    schemas = json.loads(DOCUMENT.read_text())["components"]["schemas"]
    (PACKAGE / "models.py").write_text(MODELS.format(models="\n\n\n".join(model(name, schema) for name, schema in schemas.items())))
    table, parameters, methods, awaited = ("\n\n".join(filter(None, parts)) for parts in zip(*map(operation, calls())))
    text = OPERATIONS.format(table=table.replace("\n\n", "\n"), parameters=parameters, methods=methods, awaited=awaited)
    (PACKAGE / "operations.py").write_text(text)


if __name__ == "__main__":
    main()
