"""The readable page of a study, and short texts of the other results."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from m2bridge.dimension import DimensionReport
from m2bridge.evidence import Evidence
from m2bridge.operations import (
    Component,
    Fibre,
    GroebnerBasis,
    IdealMembership,
    SingularLocus,
    TangentSpaces,
    ZariskiClosure,
)
from m2bridge.polynomials import to_text
from m2bridge.strata import Stratum
from m2bridge.study import Study

_MEANING = {
    Evidence.PROVED: "proved here by exact arithmetic",
    Evidence.COMPUTED: "computed exactly by Macaulay2; right if Macaulay2 is right",
    Evidence.LOWER_BOUND: "proved lower bound",
    Evidence.UPPER_BOUND: "proved upper bound",
    Evidence.MODULAR: "computed modulo a prime",
    Evidence.NUMERIC: "floating point, no claim",
    Evidence.CONJECTURED: "a formula, not computed",
}
_LABELS = {
    "n_parameters": "parameters",
    "n_monomial_coefficients": "monomial coefficients, repeats counted",
    "n_coordinates": "coordinates (distinct coefficients)",
    "n_independent_coordinates": "linearly independent coordinates",
}


def print_page(console: Console, *parts: RenderableType) -> None:
    """Print the parts of a page, a blank line between them."""
    for number, part in enumerate(parts):
        if number:
            console.print()
        console.print(part)


def _table(title: str, *columns: str, right: Sequence[int] = ()) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for number, column in enumerate(columns):
        table.add_column(column, justify="right" if number in right else "left", header_style="dim")
    return table


def study_page(study: Study, *, generators: bool = False) -> list[RenderableType]:
    """Return the page of a study; with the generators themselves on request."""
    parts: list[RenderableType] = [Text(study.title, style="bold underline"), _sizes(study)]
    parts.append(dimension_table(study.dimension, study.closure))
    if study.closure is not None:
        parts.append(closure_table(study.closure, study.degree_formula))
        if generators:
            parts.append(generator_list(study.closure.generators))
    if study.strata:
        parts.append(strata_table(study.strata))
    for heading, reasons in (("Not attempted", study.not_attempted), ("Undecided", study.undecided)):
        if reasons:
            parts.append(Group(Text(heading, style="bold"), *(Text(f"{k}: {v}") for k, v in reasons.items())))
    if study.disagreements:
        lines = (Text(line) for line in study.disagreements)
        parts.append(Group(Text("DISAGREEMENTS", style="bold red"), *lines))
    else:
        parts.append(Text("All values found agree.", style="bold"))
    return parts


def _sizes(study: Study) -> Table:
    table = _table("Sizes", "", "formula", "counted", right=(1, 2))
    for name, (formula, counted) in study.sizes.items():
        table.add_row(_LABELS[name], _number(formula), _number(counted))
    return table


def _number(value: int | None) -> str:
    return "-" if value is None else str(value)


def dimension_table(report: DimensionReport, closure: ZariskiClosure | None = None) -> Table:
    """Return the dimension, each way on a line, with what it is worth."""
    table = _table(
        "Dimension of the closure (affine: of a cone, one more than projective)",
        "obtained by",
        "value",
        "worth",
        right=(1,),
    )
    if report.published is not None and report.published != report.formula:
        table.add_row("published formula", str(report.published), "over-counts: rank-one collapse")
    if report.formula is not None:
        table.add_row("closed formula", str(report.formula), _MEANING[Evidence.CONJECTURED])
    primes = ", ".join(dict.fromkeys(str(sample.prime) for sample in report.samples))
    table.add_row(f"exact Jacobian rank (modulo {primes})", str(report.lower), "proved lower bound")
    if report.upper is not None:
        table.add_row("sizes, less symmetries", str(report.upper), "proved upper bound")
    if report.evidence is Evidence.COMPUTED:
        table.add_row("elimination", str(report.exact), _MEANING[Evidence.COMPUTED])
    if report.virtual is not None:
        table.add_row("rank of virtual weights (M, L), less layers", str(report.virtual), "equal in all cases tested")
    if report.numeric is not None:
        gap = f"singular-value gap {report.numeric.gap:.1e}"
        worth = gap if report.numeric.clear else f"{gap}: not clear, decides nothing"
        table.add_row("float64 Jacobian rank", str(report.numeric.rank), worth)
    if closure is not None:
        if closure.strategy == "eliminate" or closure.provenance is not None:
            table.add_row("closure, by its equations", str(closure.dim), _MEANING[Evidence.COMPUTED])
        table.add_row("codimension", str(closure.codim), f"in {closure.n_coordinates} coordinates")
    if report.rank_at_point is not None:
        table.add_row("exact Jacobian rank at the point given", str(report.rank_at_point), "exact at that point")
    verdict = f"{report.exact} ({_MEANING[report.evidence]})"
    table.add_row("[bold]together", f"[bold]{report.exact}", f"{verdict}; {report.comparison.reason}")
    return table


def closure_table(closure: ZariskiClosure, degree_formula: int | None = None) -> Table:
    """Return what is known of a closure."""
    table = _table("Zariski closure", "", "value", "obtained by")
    run = closure.provenance
    by = f"Macaulay2 {run.macaulay2}, {run.cpu_seconds:.2f} CPU s" if run is not None else "exact arithmetic here"
    # The degree is Macaulay2's even where a certificate proves the ideal.
    worth = _MEANING[closure.dim_evidence] if closure.dim_evidence is not Evidence.COMPUTED else by
    least = closure.dim_evidence is Evidence.LOWER_BOUND
    sizes = f">= {closure.dim} / <= {closure.codim}" if least else f"{closure.dim} / {closure.codim}"
    table.add_row("dimension / codimension", sizes, worth)
    table.add_row("degree", _number(closure.degree), by if closure.degree is not None else "not determined")
    if degree_formula is not None:
        table.add_row("degree by closed formula", str(degree_formula), _MEANING[Evidence.CONJECTURED])
    counts = ", ".join(f"{count} of degree {degree}" for degree, count in closure.generator_degrees.items())
    what = "minimal generators" if closure.minimal else "generators (inhomogeneous ideal: trimmed, not minimal)"
    if not closure.complete:
        what = f"{what} found"
    steps = ", ".join(f"{step} {seconds:.2f}" for step, seconds in closure.cpu_seconds.items())
    zero = "none: the zero ideal" if closure.complete else "none"
    table.add_row(what, counts or zero, f"strategy {closure.strategy}; CPU s: {steps}")
    if closure.betti is not None:
        betti = ", ".join(f"b_{i},{j} = {rank}" for i, j, rank in closure.betti)
        table.add_row("Betti numbers (independent coordinates)", betti, by)
    if closure.exact_degree is not None:
        known = "proved: verified forms meet the rank modulo a prime"
        table.add_row("all equations known up to degree", str(closure.exact_degree), known)
    table.add_row("all equations", "yes" if closure.complete else "open", closure.completeness)
    vanish = "each generator vanishes on the image: proved by substitution"
    table.add_row("worth", closure.evidence.value, vanish if closure.vanishing_proved else _MEANING[closure.evidence])
    return table


def generator_list(generators: Sequence[object]) -> Group:
    """Return polynomials, one a line."""
    return Group(Text("Generators", style="bold"), *(Text(to_text(g)) for g in generators))


def strata_table(strata: Sequence[Stratum]) -> Table:
    """Return tangent dimensions at points, with verdict and published statement."""
    title = "Tangent spaces of the closure at one point of each orbit (rk A, rk V, dim of col A meet row V)"
    if strata[0].orbit is None:
        title = "Tangent spaces of the closure"
    table = _table(title, "point", "dim", "dim X", "verdict", "worth", "published statement", right=(1, 2))
    for stratum in strata:
        verdict = {True: "singular", False: "smooth", None: "open"}[stratum.singular]
        dim = str(stratum.dim)
        if stratum.dim is None:
            dim = f"{stratum.lower}..{'' if stratum.upper is None else stratum.upper}"
        worth = stratum.evidence.value if stratum.singular is not None else "-"
        table.add_row(stratum.label, dim, str(stratum.variety_dim), verdict, worth, _published(stratum))
    return table


def _published(stratum: Stratum) -> str:
    if stratum.published_singular is None:
        return "-"
    said = "singular" if stratum.published_singular else "smooth"
    return f"{said} [bold](fails here)" if stratum.singular not in (None, stratum.published_singular) else said


def tangent_table(spaces: TangentSpaces, labels: Sequence[str] | None = None) -> Table:
    """Return tangent spaces, one a line, with labels in place of numbers where given."""
    table = _table(
        "Tangent spaces of the closure",
        "point",
        "dim",
        "dim X",
        "verdict",
        "rank of the map",
        right=(1, 2, 4),
    )
    names = labels or [str(number) for number, _ in enumerate(spaces.spaces, start=1)]
    for name, space in zip(names, spaces.spaces, strict=True):
        verdict = "singular" if space.singular else "smooth"
        rank = _number(space.parametrization_rank)
        table.add_row(name, str(space.dim), str(space.variety_dim), verdict, rank)
    return table


def singular_table(locus: SingularLocus) -> Table:
    """Return what is known of a singular locus."""
    table = _table("Singular locus of the closure", "", "value")
    table.add_row("dimension", f"{locus.dim}" if locus.dim >= 0 else "-1: smooth")
    table.add_row("degree (reduced)", _number(locus.degree))
    table.add_row("degree of the scheme of minors", str(locus.scheme_degree))
    table.add_row("minors", str(locus.n_minors))
    if locus.components is not None:
        table.add_row("components (dim, degree)", _components(locus.components))
    table.add_row("worth", _MEANING[locus.evidence])
    return table


def _components(components: Sequence[Component]) -> str:
    return ", ".join(f"({c.dim}, {c.degree})" for c in components) or "none"


def fibre_table(fibre: Fibre) -> Table:
    """Return what is known of a fibre."""
    table = _table("Fibre", "", "value")
    table.add_row("dimension", f"{fibre.dim}" if fibre.dim >= 0 else "-1: empty")
    table.add_row("degree", str(fibre.degree))
    table.add_row("components (dim, degree)", _components(fibre.components))
    table.add_row("reduced", "yes" if fibre.reduced else "no")
    table.add_row("worth", _MEANING[fibre.evidence])
    return table


def groebner_page(basis: GroebnerBasis) -> Group:
    """Return a Gröbner basis, one element a line."""
    heading = Text(f"Reduced Groebner basis, order {basis.order}: {len(basis.generators)} elements", style="bold")
    lines = [Text(to_text(g)) for g in basis.generators]
    if basis.change_of_basis is not None:
        lines.append(Text("Coefficients on the given generators", style="bold"))
        lines += [Text(", ".join(to_text(c) for c in row)) for row in basis.change_of_basis]
    return Group(heading, *lines)


def membership_page(membership: IdealMembership) -> Group:
    """Return the verdict, with cofactors or remainder."""
    if membership.member:
        lines = [Text(f"cofactor {i}: {to_text(c)}") for i, c in enumerate(membership.cofactors, start=1)]
        return Group(Text("The polynomial is in the ideal (proved: the cofactors were checked).", style="bold"), *lines)
    return Group(
        Text(f"The polynomial is not in the ideal ({_MEANING[membership.evidence]}).", style="bold"),
        Text(f"normal form: {to_text(membership.remainder)}"),
    )
