"""The API's description says what there is, and what it says works."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import pytest
from starlette.routing import Route, WebSocketRoute

from semcast.server.embedded import Embedded
from semcast.server.http import HttpFront
from semcast.server.http.app import routes
from tests.live.http.running import Events, Running, ask

pytestmark = pytest.mark.system
_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,), "array": (list,), "string": (str,), "integer": (int,), "number": (int, float),
    "boolean": (bool,), "null": (type(None),),
}  # fmt: skip


def described(overlay: Running, name: str) -> dict[str, Any]:
    found: dict[str, Any] = ask(overlay.addresses[name], "/openapi.json").json
    return found


def operations(api: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in api["paths"].items():
        for method, about in methods.items():
            yield path, method.upper(), about


def follow(api: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """What a schema stands for; KeyError where it refers to nothing."""
    if "$ref" in schema:
        found = api
        for part in schema["$ref"].removeprefix("#/").split("/"):
            found = found[part]
        return found
    return schema


def fits(api: dict[str, Any], value: Any, schema: dict[str, Any]) -> bool:
    """As far as these schemas go."""
    schema = follow(api, schema)
    kinds = schema.get("type", list(_TYPES))
    kinds = kinds if isinstance(kinds, list) else [kinds]
    if not any(isinstance(value, _TYPES[kind]) for kind in kinds):
        return False
    if isinstance(value, dict):
        parts = schema.get("properties", {})
        return set(schema.get("required", ())) <= value.keys() and all(
            fits(api, value[name], part) for name, part in parts.items() if name in value
        )
    return not isinstance(value, list) or all(fits(api, item, schema.get("items", {})) for item in value)


@pytest.mark.parametrize("name", ["c0", "b0"])
def test_every_route_is_described_and_every_description_has_a_route(overlay: Running, name: str) -> None:
    def served(front: HttpFront) -> set[tuple[str, str]]:
        found = set()
        for route in routes(front):
            assert isinstance(route, Route | WebSocketRoute)
            methods = route.methods or set() if isinstance(route, Route) else {"GET"}
            found |= {(route.path, method) for method in methods - {"HEAD"}}
        return found

    def found(_: Embedded) -> set[tuple[str, str]]:
        host = {**overlay.whole.coordinators, **overlay.whole.brokers}[name]
        return served(next(front for front in host.fronts if isinstance(front, HttpFront)))

    there = overlay.look(found)
    told = {(path, method) for path, method, _ in operations(described(overlay, name))}
    assert told == there


def test_the_description_is_sound(overlay: Running) -> None:
    api = described(overlay, "c0")
    assert api["openapi"].startswith("3.1.")
    assert {"title", "version"} <= api["info"].keys()
    for path, _, about in operations(api):
        assert about["summary"]
        assert about["responses"]
        declared = {one["name"] for one in about.get("parameters", ()) if one["in"] == "path"}
        assert declared == {part[1:-1] for part in path.split("/") if part.startswith("{")}
        for response in about["responses"].values():
            assert response["description"]
            for content in response.get("content", {}).values():
                assert follow(api, content["schema"]) is not None


@pytest.mark.parametrize("name", ["c0", "b0"])
def test_what_can_be_read_is_as_described(overlay: Running, name: str) -> None:
    api = described(overlay, name)
    read = 0
    for path, method, about in operations(api):
        if method == "GET" and not path.startswith("/v1/streams/") and path != "/v1/ws":
            read += 1
            answer = ask(overlay.addresses[name], path)
            content = about["responses"][str(answer.status)]["content"]
            assert answer.status == 200, path
            ((kind, told),) = content.items()
            assert answer.headers["content-type"].startswith(kind)
            if kind == "application/json":
                assert fits(api, answer.json, told["schema"]), path
    assert read > 5


def test_the_examples_work(overlay: Running, address: str) -> None:
    api = described(overlay, overlay.gateways[0])
    path = "/v1/streams/{stream}/messages"
    publishing, following = api["paths"][path]["post"], api["paths"][path]["get"]

    def given(about: dict[str, Any], where: str) -> dict[str, Any]:
        return {one["name"]: one["example"] for one in about["parameters"] if one["in"] == where and "example" in one}

    filled = path.format(**given(publishing, "path"))
    events = Events(address, given(following, "path")["stream"], **given(following, "query")).until_live()
    count = 0
    for kind, content in publishing["requestBody"]["content"].items():
        for example in content.get("examples", {}).values():
            value = example["value"]
            body = value if isinstance(value, str) else json.dumps(value)
            url = f"{filled}?{urlencode(given(publishing, 'query'))}"
            answer = ask(address, url, method="POST", body=body, content_type=kind)
            assert answer.status == 200
            assert fits(api, answer.json, publishing["responses"]["200"]["content"]["application/json"]["schema"])
            count += answer.json["published"]
    assert count == 3
    assert len(events.take(count)) == count
    events.close()


def test_errors_are_as_described(overlay: Running, address: str) -> None:
    api = described(overlay, overlay.gateways[0])
    for path, method, body in (
        ("/v1/streams/none/messages", "POST", "{}"),
        ("/v1/streams/quotes/messages", "POST", "{"),
        ("/v1/streams/quotes/messages?profile=(", "GET", None),
    ):
        answer = ask(address, path, method=method, body=body)
        about = api["paths"]["/v1/streams/{stream}/messages"][method.lower()]
        assert fits(api, answer.json, about["responses"][str(answer.status)]["content"]["application/json"]["schema"])
    nowhere = ask(address, "/nowhere")
    assert (nowhere.status, "/docs" in nowhere.json["error"]) == (404, True)
