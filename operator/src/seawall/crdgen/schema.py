"""Turns a pydantic model into a structural OpenAPI v3 schema, as a CRD needs it.

Structural means: no references, no unions but int-or-string, a type everywhere. Every string, list and map must have a
bound, because the API server estimates the cost of CEL rules from the bounds; a model without one is an error here.
"""

from __future__ import annotations

import ast
import inspect
import re
from itertools import pairwise
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core.core_schema import ModelSchema

from seawall.api.meta import APIModel
from seawall.api.quantity import MAX_INTEGER

Schema = dict[str, Any]

_COPIED = ("description", "pattern", "minLength", "maxLength", "minimum", "maximum", "minItems", "maxItems", "format")
_BOUND = {"string": "maxLength", "array": "maxItems", "object": "maxProperties", "integer": "maximum"}
_BOUNDED_BY_FORMAT = ("date-time",)


class NotStructuralError(ValueError):
    """A model has something that a CRD cannot express, or lacks a bound."""


def build_schema(model: type[APIModel]) -> Schema:
    """The structural schema of a model, CEL rules included.

    Raises:
        NotStructuralError: naming the field.
    """
    document = model.model_json_schema(mode="validation", by_alias=True, schema_generator=_Described)
    definitions = document.pop("$defs", {})
    rules = {found.__name__: found.RULES for found in model_parts(model)}
    return _Converter(definitions, rules).convert(document, model.__name__)


class _Described(GenerateJsonSchema):
    """Attribute docstrings are descriptions.

    Pydantic's `use_attribute_docstrings` would read the sources at each start of the operator and of a command.
    """

    def model_schema(self, schema: ModelSchema) -> JsonSchemaValue:
        found = super().model_schema(schema)
        model = schema["cls"]
        for name, text in _attribute_docstrings(model).items():
            found["properties"][model.model_fields[name].alias]["description"] = text
        return found


def _attribute_docstrings(model: type[Any]) -> dict[str, str]:
    """Field → the text below it, in the class that declares it last; who declares a field anew describes it anew."""
    texts: dict[str, str] = {}
    for each in reversed(model.__mro__):
        if issubclass(each, APIModel):
            for name in inspect.get_annotations(each):
                texts.pop(name, None)
            (definition,) = ast.parse(inspect.getsource(each)).body
            for field, below in pairwise(getattr(definition, "body", ())):
                match field, below:
                    case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                        texts[name] = inspect.cleandoc(text)
    return {name: texts[name] for name in model.model_fields if name in texts}


def model_parts(model: type[APIModel]) -> set[type[APIModel]]:
    """The model, and all that it is made of."""
    found, todo = {model}, [model]
    while todo:
        for field in todo.pop().model_fields.values():
            new = {part for part in _parts(field.annotation) if part not in found}
            found |= new
            todo.extend(new)
    return found


def _parts(annotation: Any) -> set[type[APIModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return {annotation} if issubclass(annotation, APIModel) else set()
    return {part for argument in getattr(annotation, "__args__", ()) for part in _parts(argument)}


class _Converter:
    def __init__(self, definitions: dict[str, Schema], rules: dict[str, Any]) -> None:
        self._definitions = definitions
        self._rules = rules

    def convert(self, source: Schema, path: str) -> Schema:
        """Converts one schema node; `path` names it in errors."""
        source = self._without_indirection(source, path)
        if source.get("x-kubernetes-int-or-string"):
            return _with_default(source, {"x-kubernetes-int-or-string": True, **_copied(source)})
        if "anyOf" in source:
            return self._union(source, path)
        kind = _type_of(source, path)
        target: Schema = {"type": kind, **_copied(source)}
        if "enum" in source:
            target["enum"] = source["enum"]
        elif "const" in source:
            target["enum"] = [source["const"]]
        if kind == "object":
            self._object(source, target, path)
        elif kind == "array":
            self._array(source, target, path)
        _require_portable_pattern(source, path)
        _require_bound(source, target, path)
        return _with_default(source, target)

    def _without_indirection(self, source: Schema, path: str) -> Schema:
        """Follows `$ref`, and `X | None`, which means that the field may be absent, never that it may be null."""
        options = [option for option in source.get("anyOf", []) if option != {"type": "null"}]
        if len(options) == 1:
            rest = {key: value for key, value in source.items() if key not in {"anyOf", "default"}}
            return self._without_indirection({**options[0], **rest}, path)
        if "$ref" in source:
            name = source["$ref"].rsplit("/", 1)[-1]
            rest = {key: value for key, value in source.items() if key != "$ref"}
            return self._without_indirection({**self._definitions[name], **rest}, path)
        return source

    def _union(self, source: Schema, path: str) -> Schema:
        options = {option.get("type"): option for option in source["anyOf"]}
        if set(options) != {"integer", "string"}:
            raise NotStructuralError(f"{path}: only integer | string can be a union")
        bounds = {**_copied(options["integer"]), **_copied(options["string"])}
        return {"x-kubernetes-int-or-string": True, **_copied(source), **bounds}

    def _object(self, source: Schema, target: Schema, path: str) -> None:
        if isinstance(values := source.get("additionalProperties"), dict):
            target["additionalProperties"] = self.convert(values, f"{path}[*]")
            target["maxProperties"] = source.get("maxProperties")
            if (least := source.get("minProperties")) is not None:
                target["minProperties"] = least
            return
        properties = source.get("properties", {})
        target["properties"] = {name: self.convert(found, f"{path}.{name}") for name, found in properties.items()}
        if required := [name for name in source.get("required", []) if name in properties]:
            target["required"] = required
        if rules := self._rules.get(source.get("title", "")):
            target["x-kubernetes-validations"] = [{"rule": rule.cel, "message": rule.message} for rule in rules]

    def _array(self, source: Schema, target: Schema, path: str) -> None:
        target["items"] = self.convert(source["items"], f"{path}[]")
        if keys := source.get("map_keys"):
            target["x-kubernetes-list-type"] = "map"
            target["x-kubernetes-list-map-keys"] = keys
        else:
            target["x-kubernetes-list-type"] = "set" if source.get("set") else "atomic"


def _type_of(source: Schema, path: str) -> str:
    kind = source.get("type")
    if kind is None and "const" in source:
        kind = "string"
    if not isinstance(kind, str):
        raise NotStructuralError(f"{path}: has no single type")
    return kind


def _copied(source: Schema) -> Schema:
    return {key: source[key] for key in _COPIED if key in source}


def _with_default(source: Schema, target: Schema) -> Schema:
    """Writes the default; `{}` for an object, whose fields have their own, and none for an empty map or list."""
    default = source.get("default")
    if "properties" in target and default is not None:
        target["default"] = {}
    elif default not in (None, {}, []):
        target["default"] = default
    return target


def _require_portable_pattern(source: Schema, path: str) -> None:
    if found := re.search(r"\\[sSwWdDbB]", source.get("pattern", "")):
        raise NotStructuralError(f"{path}: {found[0]} in a pattern means other characters to Go than to Rust")


def _require_bound(source: Schema, target: Schema, path: str) -> None:
    kind = target["type"]
    is_bounded_otherwise = "enum" in target or "properties" in target or source.get("format") in _BOUNDED_BY_FORMAT
    if kind == "integer":
        target["format"] = "int64"
        target.setdefault("maximum", MAX_INTEGER)
    elif kind in _BOUND and target.get(_BOUND[kind]) is None and not is_bounded_otherwise:
        raise NotStructuralError(f"{path}: a {kind} needs {_BOUND[kind]}")
    if "description" not in target and "." in path and not path.endswith(("[]", "[*]")):
        raise NotStructuralError(f"{path}: has no description")
