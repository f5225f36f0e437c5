--% extends "frame.m2"
--% block compute
--% include "closure_ideal.m2"
--% include "initial_ideal.m2"
    J = trim J;
    varietyDim := dim m2bInitial J;
    c := numgens Z - varietyDim;
    n := if c == 0 then 1 else binomial(numgens J, c) * binomial(numgens Z, c);
    D := jacobian gens J;
    -- Some minors, chosen at random, cut out a set that contains the singular locus.
    choose := m -> sort take(random toList(0 .. m - 1), c);
    some := () -> ideal apply(${ sample }, i -> det submatrix(D, choose numrows D, choose numcols D));
    feasible := n <= ${ most_minors };
    if not feasible and ${ sample } == 0 then hashTable {
        "variety_dim" => varietyDim, "n_minors" => toString n, "exact" => false,
        "dim" => null, "scheme_degree" => null, "components" => null
        }
    else (
        S := if c == 0 then ideal(1_Z) else J + (if feasible then minors(c, D) else some());
        initial := m2bInitial S;
        hashTable {
            "variety_dim" => varietyDim, "n_minors" => toString n, "exact" => feasible,
            "dim" => dim initial,
            "scheme_degree" => degree initial,
            "components" => if dim initial < 0 then {}
                else if feasible then apply(decompose S, C -> (m := m2bInitial C; {dim m, degree m}))
            }
        )
--% endblock
