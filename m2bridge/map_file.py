"""Files that describe a map or an ideal: JSON or TOML, decoded strictly, refused with the path of the fault."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import msgspec

from m2bridge.errors import InputError
from m2bridge.fields import parse_field
from m2bridge.ideal import Ideal
from m2bridge.parametrization import Parametrization
from m2bridge.polynomials import check_names, make_ring, parse_polynomial


class _MapFile(msgspec.Struct, forbid_unknown_fields=True):
    field: str
    parameters: list[str]
    coordinates: list[str | int]
    coordinate_names: list[str] | None = None
    relations: list[str | int] = []
    points: dict[str, dict[str, str | int] | str] = {}


class _IdealFile(msgspec.Struct, forbid_unknown_fields=True):
    field: str
    variables: list[str]
    generators: list[str | int]
    order: str = "grevlex"


def read_map(path: str | Path) -> Parametrization:
    """Return the polynomial map in a JSON or TOML file.

    The file has ``field`` ("QQ" or "GF(p)"), ``parameters`` (names), ``coordinates`` (polynomial strings),
    and optionally ``coordinate_names``, ``relations`` among the parameters, and named ``points``.

    Raises
    ------
    InputError
        If the file cannot be read, or anything in it is not as above; the message names the place.
    """
    document = _decode(Path(path), _MapFile)
    try:
        parametrization = Parametrization.from_strings(
            document.parameters,
            document.coordinates,
            field=document.field,
            coordinate_names=document.coordinate_names,
            relations=document.relations,
            points=document.points,
        )
    except InputError as error:
        raise type(error)(error.problem, f"{path}: {error.place}" if error.place else str(path)) from None
    return parametrization


def read_ideal(path: str | Path) -> tuple[Ideal, str]:
    """Return the ideal in a JSON or TOML file, and the monomial order that it names.

    The file has ``field``, ``variables``, ``generators`` (polynomial strings) and optionally ``order``
    (``grevlex``, ``lex`` or ``elim:k``).

    Raises
    ------
    InputError
        If the file cannot be read, or anything in it is not as above; the message names the place.
    """
    document = _decode(Path(path), _IdealFile)
    try:
        ring = make_ring(check_names(document.variables, "variables"), parse_field(document.field))
        generators = tuple(
            parse_polynomial(text, ring, f"generator {i}") for i, text in enumerate(document.generators, start=1)
        )
    except InputError as error:
        raise type(error)(error.problem, f"{path}: {error.place}" if error.place else str(path)) from None
    return Ideal(ring, generators), document.order


def _decode(path: Path, kind: Any) -> Any:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", str(path)) from None
    try:
        if path.suffix.lower() == ".toml":
            return msgspec.convert(tomllib.loads(content.decode()), kind)
        return msgspec.json.decode(content, type=kind)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"is not TOML: {error}", str(path)) from None
    except UnicodeDecodeError:
        raise InputError("is not UTF-8 text", str(path)) from None
    except msgspec.ValidationError as error:
        message = str(error)
        # The path is in msgspec's message; floats deserve the reason.
        if "got `float`" in message:
            message += " (floating-point numbers are not exact: write a text such as '1/2')"
        raise InputError(message, str(path)) from None
    except msgspec.DecodeError as error:
        raise InputError(f"is not JSON: {error}", str(path)) from None
