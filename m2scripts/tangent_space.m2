--% extends "frame.m2"
--% block compute
--% include "closure_ideal.m2"
--% include "initial_ideal.m2"
    K := coefficientRing Z;
    J = trim J;
    D := jacobian gens J;
    at := apply(${ points }, p -> map(K, Z, apply(p, x -> x_K)));
    hashTable {
        "dim" => dim m2bInitial J,
        "ranks" => apply(at, phi -> rank phi D),
        "on_variety" => apply(at, phi -> phi gens J == 0)
        }
--% endblock
