--% extends "frame.m2"
--% block compute
--% if closure
--% include "closure_ideal.m2"
    S := ${ field }[${ variables }, MonomialOrder => ${ order }];
    use S;
    I := ideal matrix(S, ${ [generators] }) + (map(S, Z, apply(${ kept_indices }, i -> S_i))) J;
--% else
    S := ${ field }[${ variables }, MonomialOrder => ${ order }];
    use S;
    I := ideal matrix(S, ${ [generators] });
--% endif
--% if change
    B := gb(I, ChangeMatrix => true);
    C := getChangeMatrix B;
--% else
    B := gb I;
--% endif
    hashTable {
        "generators" => m2bPolynomials flatten entries gens B,
--% if change
        "change" => apply(numcols C, j -> m2bPolynomials apply(numrows C, i -> C_(i,j)))
--% else
        "change" => null
--% endif
        }
--% endblock
