--% extends "frame.m2"
--% block compute
    S := ${ field }[${ variables }];
    use S;
    G := matrix(S, ${ [generators] });
    (q, r) := quotientRemainder(matrix(S, {{${ polynomial }}}), G);
    hashTable {
        "cofactors" => m2bPolynomials flatten entries q,
        "remainder" => m2bPolynomial r_(0,0)
        }
--% endblock
