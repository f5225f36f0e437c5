--% extends "frame.m2"
--% block compute
--% include "closure_ideal.m2"
--% include "initial_ideal.m2"
    homogeneous := isHomogeneous J;
    J = trim J;
    initial := m2bInitial J;
    hashTable {
        "dim" => dim initial,
        "degree" => degree initial,
        "minimal" => homogeneous,
        "generators" => m2bPolynomials select(flatten entries gens J, g -> g != 0),
--% if betti
        "betti" => (
            standard := m2bStandard J;
            if isHomogeneous standard then apply(pairs betti res standard, (k, rank) -> {k#0, k#2, rank}))
--% else
        "betti" => null
--% endif
        }
--% endblock
