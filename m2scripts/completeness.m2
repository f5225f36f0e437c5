--% extends "frame.m2"
--% block compute
--% if not chart
--% include "closure_ideal.m2"
    K := J;
--% endif
    Z := ${ field }[${ kept }];
    use Z;
    J := ideal matrix(Z, ${ [given] });
    G := gens gb J;
    leading := leadTerm G;
    initial := if numcols G == 0 then monomialIdeal(0_Z) else monomialIdeal leading;
--% if chart
    -- A last variable that divides no leading monomial is no zero divisor (graded reverse lexicographic order).
    lastIsFree := all(flatten entries leading, m -> degree(Z_(numgens Z - 1), m) == 0);
    -- h is no zero divisor iff the Hilbert series of Z/(J + h) is 1 - T^(deg h) times that of Z/J. (Driving the
    -- basis by the expected series is faster, but Macaulay2 aborts where the series is wrong.)
    numerator := poincare comodule initial;
    isNonzerodivisor := h -> (
        if h == Z_(numgens Z - 1) and lastIsFree then return true;
        expected := (1 - (degreesRing Z)_0^(first degree h)) * numerator;
        H := gens gb(J + ideal h);
        poincare comodule monomialIdeal leadTerm H == expected);
--% endif
--% if chart
    identities := apply(flatten entries matrix(Z, ${ [identities] }), f -> f % J == 0);
--% endif
    hashTable {
        "dim" => dim initial,
        "degree" => degree initial,
--% if chart
        "identities" => identities,
        "nonzerodivisors" => if all(identities, x -> x)
            then apply(flatten entries matrix(Z, ${ [denominators] }), isNonzerodivisor) else {},
        "contains_kernel" => null,
        "kernel_degrees" => null
--% else
        "identities" => {},
        "nonzerodivisors" => {},
        "contains_kernel" => isSubset((map(Z, ring K, gens Z)) K, J),
        "kernel_degrees" => pairs tally apply(flatten entries mingens K, g -> (
            sum first exponents leadTerm g))
--% endif
        }
--% endblock
