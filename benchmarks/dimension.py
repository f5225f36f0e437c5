"""Dimensions of deep networks and ranks modulo a prime: this package against others.

Run as ``python -m benchmarks.dimension [--quick] [--json] [--limit SECONDS]``. For lightning networks of l layers of
width d, rank a and t tokens: the exact dimension, proved from both sides; a loop over the outputs that differentiates
each backwards in float64 (with torch where it is installed, and written out in numpy) and ``numpy.linalg.matrix_rank``
with its default tolerance; Macaulay2's ``rank`` of the ``jacobian`` of the expanded outputs, and sympy's, on the
smallest. Then ranks of random n x n matrices modulo a 22-bit prime against python-flint's.

Every program runs in a process of its own, on one thread; figures are CPU seconds without start-up and imports.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import flint
import numpy as np
from numpy.typing import NDArray

from benchmarks import report
from benchmarks.measure import best_of, run
from m2bridge import modular
from m2bridge.dimension import deep_dimension
from m2bridge.networks import DeepLightning

ROOT = Path(__file__).resolve().parents[1]
Array = NDArray[np.float64]

NETWORKS = (
    (1, 2, 1, 2),
    (1, 4, 2, 2),
    (2, 2, 1, 2),
    (3, 4, 2, 3),
    (3, 8, 4, 4),
    (3, 16, 8, 4),
    (6, 16, 8, 4),
    (16, 24, 8, 4),
)
BOTTLENECK = ((16, 8, 8, 12), (4, 4, 4), 4)
"""Widths, ranks, tokens of one more network, whose layers are not all of one width."""

QUICK = NETWORKS[:5]
EXPANDED = NETWORKS[:3]
"""Small enough for programs that expand the outputs as polynomials."""

LOOPED = 2500
"""With more parameters than this the float64 loop would need hours for its singular values."""

REPORTED = 2500
"""Up to this number of parameters the whole report, with its float64 estimate, is timed as well."""

SIZES = (1000, 2000, 4000)
REPEATED = 5.0
"""Runs that take less are repeated, and the best of three counts."""


def network(sizes: Sequence[Any]) -> DeepLightning:
    """Return the network of (l, d, a, t), or of (widths, ranks, t)."""
    if len(sizes) == 3:
        return DeepLightning(tuple(sizes[0]), tuple(sizes[1]), sizes[2])
    n_layers, d, a, t = sizes
    return DeepLightning((d,) * (n_layers + 1), (a,) * n_layers, t)


# --- each of these runs in a process of its own ----------------------------------------------------------


def by_product(net: DeepLightning) -> dict[str, Any]:
    """Return the proved bounds."""
    found = net.native_rank()
    return {"rank": found.rank, "upper": net.dimension_upper_bound}


def by_report(net: DeepLightning) -> dict[str, Any]:
    """Return what the package reports in all: bounds, virtual weights, float64 estimate."""
    found = deep_dimension(net)
    return {"rank": found.exact, "upper": found.upper}


def _random_weights(net: DeepLightning, rng: np.random.Generator) -> list[dict[str, Array]]:
    return [
        {
            "Q": rng.standard_normal((a, d)),
            "K": rng.standard_normal((a, d)),
            "V": rng.standard_normal((e, d)),
        }
        for a, d, e in zip(net.ranks, net.widths, net.widths[1:], strict=False)
    ]


def _n_inputs(net: DeepLightning) -> int:
    """Twice as many outputs as parameters."""
    return -(-2 * net.n_parameters // (net.widths[-1] * net.t))


def by_numpy(net: DeepLightning) -> dict[str, Any]:
    """Return the float64 rank of a Jacobian that was made row by row, by the chain rule backwards."""
    rng = np.random.default_rng(0)
    weights = _random_weights(net, rng)
    rows = []
    for _ in range(_n_inputs(net)):
        Y = rng.standard_normal((net.widths[0], net.t))
        passed = []
        for layer in weights:
            k, q = layer["K"] @ Y, layer["Q"] @ Y
            S = k.T @ q
            Z = Y @ S
            passed.append((Y, k, q, S, Z))
            Y = layer["V"] @ Z
        for index in np.ndindex(*Y.shape):
            dY = np.zeros_like(Y)
            dY[index] = 1
            row: list[Array] = []
            for layer, (before, k, q, S, Z) in zip(reversed(weights), reversed(passed), strict=True):
                dV, dZ = dY @ Z.T, layer["V"].T @ dY
                dS = before.T @ dZ
                dk, dq = q @ dS.T, k @ dS
                dY = dZ @ S.T + layer["K"].T @ dk + layer["Q"].T @ dq
                row = [(dq @ before.T).ravel(), (dk @ before.T).ravel(), dV.ravel(), *row]
            rows.append(np.concatenate(row))
    return {"rank": _float_rank(np.array(rows))}


def by_torch(net: DeepLightning) -> dict[str, Any]:
    """Return the float64 rank of a Jacobian that was made by one backward pass for each output."""
    import torch

    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    weights = [
        {letter: torch.tensor(W, requires_grad=True) for letter, W in layer.items()}
        for layer in _random_weights(net, rng)
    ]
    leaves = [W for layer in weights for W in layer.values()]
    rows = []
    for _ in range(_n_inputs(net)):
        Y = torch.tensor(rng.standard_normal((net.widths[0], net.t)))
        for layer in weights:
            Y = layer["V"] @ Y @ ((layer["K"] @ Y).T @ (layer["Q"] @ Y))
        for output in Y.flatten():
            gradients = torch.autograd.grad(output, leaves, retain_graph=True)
            rows.append(torch.cat([g.flatten() for g in gradients]).numpy())
    return {"rank": _float_rank(np.array(rows))}


def _float_rank(jacobian: Array) -> int:
    return int(np.linalg.matrix_rank(jacobian)) if np.isfinite(jacobian).all() else -1


def by_sympy(net: DeepLightning) -> dict[str, Any]:
    """Return the exact rank, at a random point, of the Jacobian of the expanded outputs at random inputs."""
    import sympy

    rng = np.random.default_rng(0)
    outputs: list[Any] = []
    symbols: list[Any] = []
    weights = []
    for number, (a, d, e) in enumerate(zip(net.ranks, net.widths, net.widths[1:], strict=False)):
        layer = []
        for letter, shape in (("Q", (a, d)), ("K", (a, d)), ("V", (e, d))):
            matrix = sympy.Matrix(*shape, lambda i, j, name=f"{letter}{number}": sympy.Symbol(f"{name}_{i}_{j}"))
            symbols += list(matrix)
            layer.append(matrix)
        weights.append(layer)
    for _ in range(_n_inputs(net)):
        Y = sympy.Matrix(net.widths[0], net.t, rng.integers(1, 100, net.widths[0] * net.t).tolist())
        for Q, K, V in weights:
            Y = (V * Y * ((K * Y).T * (Q * Y))).applyfunc(sympy.expand)
        outputs += list(Y)
    point = dict(zip(symbols, rng.integers(1, 100, len(symbols)).tolist(), strict=True))
    jacobian = sympy.Matrix([[sympy.diff(f, x).subs(point) for x in symbols] for f in outputs])
    return {"rank": int(sympy.polys.matrices.DomainMatrix.from_Matrix(jacobian).to_field().rank())}


def rank_kernels(n: int) -> dict[str, Any]:
    """Return the CPU seconds of the rank of a random n x n matrix, and of python-flint's with its conversion."""
    rng = np.random.default_rng(0)
    matrix = rng.integers(0, modular.PRIME, (n, n))
    as_float = matrix.astype(np.float64)
    seconds = {}

    def best(name: str, work: Callable[[], Any]) -> Any:
        times: list[float] = []
        while not times or (len(times) < 3 and times[0] < REPEATED):
            start = time.process_time()
            found = work()
            times.append(time.process_time() - start)
        seconds[name] = min(times)
        return found

    ours = best("m2bridge", lambda: modular.rank(as_float))
    converted = best("conversion", lambda: flint.nmod_mat(n, n, matrix.ravel().tolist(), modular.PRIME))
    theirs = best("flint", lambda: converted.rank())
    return {"rank": ours, "same": int(theirs) == ours, "times": seconds}


WORKERS: dict[str, Callable[[DeepLightning], dict[str, Any]]] = {
    "product": by_product,
    "report": by_report,
    "numpy": by_numpy,
    "torch": by_torch,
    "sympy": by_sympy,
}


def macaulay2_script(net: DeepLightning, prime: int = 32003) -> str:
    """Return Macaulay2's rank, at a random point, of the Jacobian of the expanded outputs at random inputs."""
    names, layers = [], []
    for number, (a, d, e) in enumerate(zip(net.ranks, net.widths, net.widths[1:], strict=False)):
        matrices = []
        for letter, shape in (("Q", (a, d)), ("K", (a, d)), ("V", (e, d))):
            entries = [[f"{letter}{number}x{i}x{j}" for j in range(shape[1])] for i in range(shape[0])]
            names += [name for row in entries for name in row]
            matrices.append("matrix{" + ",".join("{" + ",".join(row) + "}" for row in entries) + "}")
        layers.append("{" + ",".join(matrices) + "}")
    return f"""
        R = ZZ/{prime}[{",".join(names)}];
        layers = {{{",".join(layers)}}};
        output = () -> (
            Y := sub(random((ZZ/{prime})^{net.widths[0]}, (ZZ/{prime})^{net.t}), R);
            for l in layers do Y = l#2 * Y * (transpose(l#1 * Y) * (l#0 * Y));
            flatten entries Y);
        F = matrix {{flatten for i from 1 to {_n_inputs(net)} list output()}};
        J = sub(jacobian F, random((ZZ/{prime})^1, (ZZ/{prime})^(numgens R)));
        print rank J;
        """


# --- measuring -------------------------------------------------------------------------------------------


def worker(name: str, sizes: str) -> None:
    """Do one thing and print what it took."""
    start_up = time.process_time()
    if name == "kernels":
        found = rank_kernels(int(sizes))
    else:
        if name == "torch":
            import torch  # noqa: F401 - its import is start-up
        elif name == "sympy":
            import sympy  # noqa: F401
        start_up = time.process_time()
        found = WORKERS[name](network(json.loads(sizes)))
    print(json.dumps(found | {"start_up": start_up, "cpu": time.process_time() - start_up}))


def measure(name: str, sizes: Any, limit: float, folder: Path) -> dict[str, Any]:
    """Run one thing in a process of its own."""
    if name == "torch" and find_spec("torch") is None:
        return {"status": "missing", "note": "torch is not installed"}
    command = [sys.executable, "-m", "benchmarks.dimension", "--work", name, json.dumps(sizes)]
    idle = 0.0
    if name == "m2":
        m2 = os.environ.get("M2BRIDGE_M2") or shutil.which("M2")
        if m2 is None:
            return {"status": "missing", "note": "Macaulay2 is not installed"}
        (folder / "input").write_text(macaulay2_script(network(sizes)))
        (folder / "nothing").write_text("")
        command = [m2, "--script", "input"]
        nothing = [run([m2, "--script", "nothing"], folder, cpu_limit=60) for _ in range(3)]
        idle = best_of(nothing).cpu_seconds
    runs: list[dict[str, Any]] = []
    while not runs or (len(runs) < 3 and runs[0]["status"] == "ok" and runs[0]["seconds"] < REPEATED):
        done = run(command, folder, cpu_limit=limit, environment={"PYTHONPATH": str(ROOT)})
        if done.status != "ok":
            note = done.errors.strip()[-300:] if done.status == "failed" else ""
            runs.append({"status": done.status, "seconds": done.cpu_seconds, "note": note})
        elif name == "m2":
            runs.append(
                {"status": "ok", "seconds": max(done.cpu_seconds - idle, 0.001), "rank": int(done.output), "idle": idle}
            )
        else:
            said = json.loads(done.output)
            times = said.pop("cpu")
            runs.append({"status": "ok", **said, "seconds": times})
    good = [one for one in runs if one["status"] == "ok"]
    return min(good, key=lambda one: float(one["seconds"])) if good else runs[0]


def measure_network(sizes: Any, limit: float, folder: Path) -> dict[str, Any]:
    """Run everything on a network."""
    net = network(sizes)
    name = str(tuple(sizes)).replace(" ", "")
    cells = {"product": measure("product", sizes, limit, folder)}
    if net.n_parameters <= REPORTED:
        cells["report"] = measure("report", sizes, limit, folder)
    for peer in ("torch", "numpy", "m2", "sympy"):
        if peer in ("m2", "sympy") and sizes not in EXPANDED:
            cells[peer] = {"status": "not run", "note": "the outputs are too large to be expanded"}
        elif peer in ("torch", "numpy") and net.n_parameters > LOOPED:
            gigabytes = 2 * net.n_parameters**2 * 8 / 1e9
            cells[peer] = {"status": "not run", "note": f"singular values of a matrix of {gigabytes:.1f} GB"}
        else:
            cells[peer] = measure(peer, sizes, limit, folder)
    return {"name": name, "n_parameters": net.n_parameters, "limit": limit, "peers": cells}


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description="Dimensions of deep networks, and ranks modulo a prime.")
    parser.add_argument("--quick", action="store_true", help="the small networks, matrices of size 1000 only")
    parser.add_argument("--json", action="store_true", help="print all figures as JSON")
    parser.add_argument("--limit", type=float, help="CPU seconds for each program (300)")
    parser.add_argument("--no-docs", action="store_true", help="do not write the tables and the plot")
    parser.add_argument("--work", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        worker(*options.work)
        return 0
    limit = options.limit or (20.0 if options.quick else 300.0)
    networks: list[Any] = list(QUICK) if options.quick else [*NETWORKS, BOTTLENECK]
    records, kernels = [], []
    with tempfile.TemporaryDirectory(prefix="m2bridge-benchmark-") as name:
        folder = Path(name)
        for sizes in networks:
            record = measure_network(sizes, limit, folder)
            records.append(record)
            if not options.json:
                print(describe(record), flush=True)
        for n in SIZES[:1] if options.quick else SIZES:
            found = measure("kernels", n, limit, folder)
            kernels.append({"name": str(n), "peers": {"kernels": found}})
            if not options.json:
                print(describe_kernels(n, found), flush=True)
    if not options.quick and not options.no_docs:
        report.save("dimension", records)
        report.save("rank", kernels)
        report.write()
    if options.json:
        print(json.dumps({"networks": records, "kernels": kernels}, indent=1))
    wrong = [r["name"] for r in records if not exact(r)]
    if wrong:
        print(f"not proved from both sides: {', '.join(wrong)}", file=sys.stderr)
    return 1 if wrong else 0


def exact(record: dict[str, Any]) -> bool:
    """Say whether the product's bounds meet, and no exact program disagrees."""
    cells = record["peers"]
    ours = cells["product"]
    if ours["status"] != "ok" or ours["rank"] != ours["upper"]:
        return False
    return all(
        cells[key].get("rank", ours["rank"]) == ours["rank"] for key in ("report", "m2", "sympy") if key in cells
    )


def describe(record: dict[str, Any]) -> str:
    """Return a line on a network."""
    parts = []
    for key, cell in record["peers"].items():
        parts.append(
            f"{key} {cell['rank']} in {cell['seconds']:.3f} s" if cell["status"] == "ok" else f"{key} {cell['status']}"
        )
    return f"{record['name']}, {record['n_parameters']} parameters: {'; '.join(parts)}"


def describe_kernels(n: int, found: dict[str, Any]) -> str:
    """Return a line on the rank kernels."""
    if found["status"] != "ok":
        return f"rank of {n} x {n}: {found['status']}"
    times = found["times"]
    theirs = times["flint"] + times["conversion"]
    return (
        f"rank of {n} x {n}: {times['m2bridge']:.2f} s; python-flint {times['flint']:.2f} s and conversion "
        f"{times['conversion']:.2f} s, {theirs / times['m2bridge']:.1f} times as long"
    )


if __name__ == "__main__":
    sys.exit(main())
