"""The commands ``certify``, which writes a certificate, and ``check``, which is the independent checker."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from sympy.polys.rings import PolyElement

from m2bridge import certificates
from m2bridge import check as checker
from m2bridge.certificates.certificate import Certificate
from m2bridge.cli_options import (
    ModelChoice,
    choose_model,
    choose_point,
    engine_options,
    make_engine,
    make_limits,
    model_options,
    parse_values,
)
from m2bridge.closure import closure
from m2bridge.errors import InputError
from m2bridge.map_file import read_ideal
from m2bridge.networks import DeepLightning, LightningAttention
from m2bridge.parametrization import Parametrization, exact_point
from m2bridge.polynomials import parse_polynomial

CLAIMS = (
    "dimension",
    "vanishing",
    "closure",
    "point",
    "fibre",
    "realizable",
    "not-realizable",
    "groebner",
    "membership",
)


@click.command("certify")
@click.argument("claim", type=click.Choice(CLAIMS))
@model_options
@engine_options
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, dir_okay=False), required=True, help="The file to write."
)
@click.option("--at", help="Weights: name=value,..., or values in order, or @file.json, or a name in the map file.")
@click.option("--orbit", help="Weights representing an orbit: rk A, rk V, intersection.")
@click.option("--other", help="For 'fibre': the other weights.")
@click.option("--value", help="For 'realizable' and 'not-realizable': the values of the coordinates.")
@click.option("--polynomial", "texts", multiple=True, help="For 'vanishing' and 'membership': a polynomial.")
@click.option("--ideal", "ideal_file", type=click.Path(path_type=Path), help="For 'groebner' and 'membership'.")
@click.option("--order", help="For 'groebner': grevlex (default), lex, or elim:k.")
@click.option(
    "--max-degree", type=click.IntRange(1), help="For 'vanishing' without polynomials: of the equations found."
)
@click.option(
    "--budget", "budget_seconds", type=float, default=300.0, show_default=True, help="Seconds for each search."
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of random points.")
def certify_command(claim: str, output: Path, **options: Any) -> None:
    r"""Write a certificate of a CLAIM: a proof that 'm2bridge check' accepts without Macaulay2.

    \b
    dimension       of the closure of the image
    vanishing       of polynomials on the image (the equations found, where none are given)
    closure         these equations generate the whole ideal of the closure
    point           the closure is singular, or smooth, at the image of weights
    fibre           two weights give the same function, or different ones
    realizable      weights give a coefficient vector; not-realizable: an equation is nonzero there
    groebner        a Groebner basis of an ideal
    membership      a polynomial lies in an ideal, or does not
    """
    engine = make_engine(options["executable"], options["engine_kind"] or "warm")
    try:
        made = _make(claim, engine, options)
    finally:
        engine.close()
    verdict = made.check()
    if verdict.exit_code:
        raise RuntimeError(f"the checker does not accept the certificate: {verdict.line}")
    output.parent.mkdir(parents=True, exist_ok=True)
    made.write(output)
    click.echo(f"{verdict.line}\nwritten to {output}")


def _make(claim: str, engine: Any, options: dict[str, Any]) -> Certificate:
    budget = {"budget_seconds": options["budget_seconds"]}
    run = {"engine": engine, "limits": make_limits(options["time_limit"], options["memory_limit"])}
    if claim in ("groebner", "membership"):
        if options["ideal_file"] is None or options["family"] or options["map_file"]:
            raise click.UsageError(f"'{claim}' is a claim about an ideal: give --ideal FILE and no model")
        ideal, order = read_ideal(options["ideal_file"])
        if claim == "groebner":
            return certificates.certify_groebner(ideal, options["order"] or order, **budget, **run)
        if len(options["texts"]) != 1:
            raise click.UsageError("'membership' needs one --polynomial")
        polynomial = parse_polynomial(options["texts"][0], ideal.ring, "--polynomial")
        return certificates.certify_membership(ideal, polynomial, **budget, **run)
    choice, seed = choose_model(**options), options["seed"]
    if claim == "dimension":
        return certificates.certify_dimension(choice.model, seed=seed)
    if claim == "fibre":
        return _fibre(choice, options)
    map_ = choice.parametrization(f"a certificate ({claim})")
    model = choice.model if isinstance(choice.model, LightningAttention) else map_
    if claim == "vanishing":
        return certificates.certify_vanishing(map_, _equations(map_, options))
    if claim == "closure":
        return certificates.certify_closure(model, seed=seed, **budget, **run)
    if claim == "point":
        weights = choose_point(choice, map_, options["at"], options["orbit"], seed)
        return certificates.certify_point(model, weights, seed=seed, engine=engine, **budget)
    if options["value"] is None:
        raise click.UsageError(f"'{claim}' needs --value")
    value = exact_point(parse_values(options["value"]), map_.coordinate_names, map_.field)
    if claim == "not-realizable":
        return certificates.certify_not_realizable(model, value, seed=seed, **budget)
    if options["at"] is not None:
        weights = choose_point(choice, map_, options["at"], None, seed)
        return certificates.certify_realizable(model, value, weights)
    return certificates.certify_realizable(model, value)


def _fibre(choice: ModelChoice, options: dict[str, Any]) -> Certificate:
    if options["at"] is None or options["other"] is None:
        raise click.UsageError("'fibre' needs --at and --other")
    model = choice.model
    if isinstance(model, DeepLightning):
        pair = [_all_values(options[name], model.n_parameters) for name in ("at", "other")]
    else:
        map_ = choice.parametrization("a certificate (fibre)")
        pair = [list(choose_point(choice, map_, options[name], None, options["seed"])) for name in ("at", "other")]
    return certificates.certify_fibre(model, pair[0], pair[1], seed=options["seed"])


def _all_values(text: str, count: int) -> list[Any]:
    values = parse_values(text)
    if isinstance(values, dict):
        raise InputError("weights of a deep network are given in order, without names")
    names = [f"weight {i}" for i in range(1, count + 1)]
    return list(exact_point(values, names, Parametrization.from_strings(["x"], ["x"]).field))


def _equations(map_: Parametrization, options: dict[str, Any]) -> list[PolyElement]:
    if options["texts"]:
        return [parse_polynomial(text, map_.coordinate_ring, "--polynomial") for text in options["texts"]]
    budget, degree = options["budget_seconds"], options["max_degree"]
    found = closure(map_, equations_only=True, max_degree=degree, budget_seconds=budget, seed=options["seed"])
    return list(found.generators)


@click.command("check")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--pure", is_flag=True, help="Use Python's own integers, and not python-flint.")
def check_command(file: Path, pure: bool) -> None:
    """Check a certificate. Exit code 0: accepted; 1: rejected; 2: malformed.

    The same as 'python -m m2bridge.check FILE', a single file that needs nothing else of m2bridge.
    """
    code = checker.main([str(file), *(["--pure"] if pure else [])])
    if code:
        raise click.exceptions.Exit(code)
