    -- The ideal J of the Zariski closure in the linearly independent coordinates Z; the other coordinates
    -- are affine-linear in these.
--% if equations is not none
    Z := ${ field }[${ kept }];
    use Z;
    J := ideal matrix(Z, ${ [equations] });
--% elif kept_indices
    P := ${ field }[${ parameters }, Degrees => ${ parameter_degrees }];
    use P;
--% if relations
    P = P / ideal matrix(P, ${ [relations] });
    use P;
--% endif
    F := matrix(P, ${ [coordinates] });
    Z := ${ field }[${ kept }, Degrees => ${ coordinate_degrees }];
    J := kernel map(P, Z, F);
    use Z;
--% else
    Z := ${ field }[];
    J := ideal(0_Z);
--% endif
