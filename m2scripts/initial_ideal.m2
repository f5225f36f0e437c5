    -- Dimension and degree of the projective closure are those of the initial ideal for a graded order.
    m2bStandard := I -> (
        Y := newRing(ring I, Degrees => apply(numgens ring I, i -> 1), MonomialOrder => GRevLex);
        (map(Y, ring I, gens Y)) I);
    m2bInitial := I -> (
        standard := m2bStandard I;
        G := gens gb standard;
        if numcols G == 0 then monomialIdeal(0_(ring standard)) else monomialIdeal leadTerm G);
