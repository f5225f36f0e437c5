"""A second system agrees: Singular eliminates the closures of the gallery, and computes the dimensions of its maps."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.certificates.gallery import ACCEPTED, FOLDER

pytestmark = pytest.mark.singular


def _claims(kind: str) -> list[str]:
    documents = {name: json.loads((FOLDER / f"{name}.json").read_text()) for name in ACCEPTED}
    return [
        name
        for name, document in documents.items()
        if document["claim"]["kind"] == kind and "widths" not in document["claim"]["map"]
    ]


def _singular(script: str, folder: Path) -> str:
    (folder / "script").write_text(script + "\nquit;\n")
    executable = shutil.which("Singular")
    assert executable is not None
    done = subprocess.run(
        [executable, "-q", "--no-rc", str(folder / "script")], capture_output=True, text=True, check=True, timeout=120
    )
    # Warnings about optional modules come before.
    return " ".join(done.stdout.split()[-2:])


def _graph(about: dict[str, Any], after: str) -> str:
    """Return a script that eliminates the parameters from the graph, all names replaced by indexed ones."""
    parameters = {name: f"w({i})" for i, name in enumerate(about["parameters"], start=1)}
    coordinates = {name: f"y({i})" for i, name in enumerate(about["coordinate_names"], start=1)}
    n, m = len(parameters), len(coordinates)
    equations = [f"y({i})-({_renamed(text, parameters)})" for i, text in enumerate(about["coordinates"], start=1)]
    return f"""
        ring R = 0,(w(1..{n}),y(1..{m})),dp;
        ideal graph = {",".join(equations)};
        ideal K = eliminate(graph, {"*".join(parameters.values())});
        {after}
        """


def _renamed(text: str, names: dict[str, str]) -> str:
    factors = []
    for part in text.replace("-", "+-").split("+"):
        factors.append("*".join(_factor(x, names) for x in part.split("*")))
    return "+".join(factors)


def _factor(text: str, names: dict[str, str]) -> str:
    sign = "-" if text.startswith("-") else ""
    name, caret, exponent = text.removeprefix("-").partition("^")
    return f"{sign}{names.get(name, name)}{caret}{exponent}"


@pytest.mark.parametrize("name", _claims("closure"))
def test_singular_finds_the_same_closure(name: str, tmp_path: Path) -> None:
    claim = json.loads((FOLDER / f"{name}.json").read_text())["claim"]
    names = {y: f"y({i})" for i, y in enumerate(claim["map"]["coordinate_names"], start=1)}
    polynomials = ",".join(_renamed(f, names) for f in claim["polynomials"]) or "0"
    after = f"""
        ideal J = {polynomials};
        ideal G = std(K);
        ideal H = std(J);
        print("difference " + string(size(reduce(J, G)) + size(reduce(K, H))));
        """
    assert _singular(_graph(claim["map"], after), tmp_path) == "difference 0"


@pytest.mark.parametrize("name", _claims("dimension"))
def test_singular_finds_the_same_dimension(name: str, tmp_path: Path) -> None:
    claim = json.loads((FOLDER / f"{name}.json").read_text())["claim"]
    n = len(claim["map"]["parameters"])
    # The dimension in the ring of the graph counts the parameters as well.
    after = f'print("dimension " + string(dim(std(K)) - {n}));'
    assert _singular(_graph(claim["map"], after), tmp_path) == f"dimension {claim['dimension']}"


@pytest.mark.parametrize(
    ("sizes", "dim"),
    [((2, 1, 1, 2), 4), ((3, 2, 2, 2), 13), ((2, 2, 2, 1), 6)],
    ids=str,
)
def test_singular_finds_the_rank_of_a_layer(sizes: tuple[int, ...], dim: int, tmp_path: Path) -> None:
    """The layers of the gallery whose certificates speak of networks: the rank of the Jacobian at a random point."""
    from m2bridge import LightningAttention

    about = LightningAttention(*sizes).parametrization().describe()
    names = {name: f"w({i})" for i, name in enumerate(about["parameters"], start=1)}
    script = f"""
        ring R = 0,(w(1..{len(names)})),dp;
        ideal f = {",".join(_renamed(text, names) for text in about["coordinates"])};
        matrix J = jacob(f);
        ideal point = {",".join(f"w({i})-{(7 * i * i + 3) % 101}" for i in range(1, len(names) + 1))};
        print("rank " + string(rank(matrix(reduce(J, std(point))))));
        """
    assert _singular(script, tmp_path) == f"rank {dim}"
