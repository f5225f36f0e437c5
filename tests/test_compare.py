"""Verdicts: an open one has no truth value; a formula is judged by what the exact value is worth."""

from __future__ import annotations

import pytest

from m2bridge.compare import Comparison, Verdict, compare_dimensions


def test_truth_value() -> None:
    assert bool(Verdict.AGREE)
    assert not bool(Verdict.DISAGREE)
    with pytest.raises(TypeError, match="neither true nor false"):
        bool(Verdict.UNDECIDED)
    with pytest.raises(TypeError):
        all([Verdict.AGREE, Verdict.UNDECIDED])


@pytest.mark.parametrize(
    ("verdict", "value"), [(Verdict.AGREE, True), (Verdict.DISAGREE, False), (Verdict.UNDECIDED, None)]
)
def test_json(verdict: Verdict, value: bool | None) -> None:
    assert Comparison(verdict, "").to_json() is value


# formula, exact, proved, numeric, clear
COMPARISONS = {
    "all-equal": ((5, 5, True, 5, True), Verdict.AGREE, "equal"),
    "no-formula": ((None, 5, True, 5, True), Verdict.AGREE, "equal"),
    "no-numbers": ((5, 5, True, None, False), Verdict.AGREE, "equal"),
    "exact-alone": ((None, 5, True, None, False), Verdict.AGREE, "equal"),
    "formula-above-proved": ((6, 5, True, 5, True), Verdict.DISAGREE, "the formula says 6, the exact value is 5"),
    "formula-above-lower-bound": (
        (6, 5, False, 5, True),
        Verdict.UNDECIDED,
        "formula says 6, the exact lower bound is 5",
    ),
    "formula-below-lower-bound": ((4, 5, False, 5, True), Verdict.DISAGREE, "the formula says 4"),
    "formula-below-proved": ((4, 5, True, 5, True), Verdict.DISAGREE, "the formula says 4"),
    "numbers-unclear": ((5, 5, True, 4, False), Verdict.UNDECIDED, "no clear gap"),
    "numbers-unclear-but-equal": ((5, 5, True, 5, False), Verdict.UNDECIDED, "no clear gap"),
    "numbers-below": ((5, 5, True, 4, True), Verdict.DISAGREE, "the float64 rank is 4"),
    "numbers-above": ((None, 5, True, 6, True), Verdict.DISAGREE, "the float64 rank is 6"),
    # An exact lower bound does not refute a larger estimate.
    "numbers-above-lower-bound": ((None, 5, False, 6, True), Verdict.UNDECIDED, "the exact lower bound is 5"),
}


@pytest.mark.parametrize("case", COMPARISONS)
def test_comparison(case: str) -> None:
    (formula, exact, proved, numeric, clear), verdict, reason = COMPARISONS[case]
    found = compare_dimensions(
        formula=formula, exact=exact, exact_is_proved=proved, numeric=numeric, numeric_is_clear=clear
    )
    assert found.verdict is verdict
    assert reason in found.reason
