--% extends "frame.m2"
--% block compute
--% include "closure_ideal.m2"
--% include "initial_ideal.m2"
    J = trim J;
    varietyDim := dim m2bInitial J;
    c := numgens Z - varietyDim;
    n := if c == 0 then 1 else binomial(numgens J, c) * binomial(numgens Z, c);
    if n > ${ most_minors } then hashTable {
        "variety_dim" => varietyDim, "n_minors" => toString n,
        "dim" => null, "scheme_degree" => null, "components" => null
        }
    else (
        S := if c == 0 then ideal(1_Z) else J + minors(c, jacobian gens J);
        initial := m2bInitial S;
        hashTable {
            "variety_dim" => varietyDim, "n_minors" => toString n,
            "dim" => dim initial,
            "scheme_degree" => degree initial,
            "components" => if dim initial < 0 then {}
                else apply(decompose S, C -> (m := m2bInitial C; {dim m, degree m}))
            }
        )
--% endblock
