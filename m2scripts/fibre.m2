--% extends "frame.m2"
--% block compute
--% include "initial_ideal.m2"
    P := ${ field }[${ parameters }];
    use P;
    I := ideal matrix(P, ${ [equations] });
    initial := m2bInitial I;
    components := if dim initial < 0 then {} else decompose I;
    hashTable {
        "dim" => dim initial,
        "degree" => degree initial,
        "reduced" => #components == 0 or isSubset(intersect components, I),
        "components" => apply(components, C -> (m := m2bInitial C; {dim m, degree m}))
        }
--% endblock
