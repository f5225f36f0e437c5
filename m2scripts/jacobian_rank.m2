--% extends "frame.m2"
--% block compute
    P := ${ field }[${ parameters }];
    use P;
    D := jacobian matrix(P, ${ [coordinates] });
    hashTable {
        "ranks" => apply(${ points }, p ->
            rank (map(coefficientRing P, P, apply(p, x -> x_(coefficientRing P)))) D)
        }
--% endblock
