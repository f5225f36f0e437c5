-- Zariski closure of the image of a polynomial map: ideal, dimension, degree, minimal generators.
-- Map: lightning self-attention d=2, d'=1, a=1, t=2 in Q, K, V, over QQ.
-- The ideal is that of the Zariski closure of its image.
-- Eliminated from lightning self-attention d=2, d'=1, a=1, t=2 in A = [B; C B], V: it has the same coordinates and the same closure.
-- Parameters: w_0 = B11, w_1 = B12, w_2 = C11, w_3 = V11, w_4 = V12
-- Coordinates: y_0 = y1111, y_1 = y1112, y_2 = y1121, y_3 = y1122, y_4 = y1221, y_5 = y1222
-- 2 of 8 coordinates are affine-linear in these, and left out.
--
-- Run it by hand:  M2 --script script.m2 result.json
-- (without the file name the result is printed). The key below is the SHA-256 of this file with nothing
-- between the quotes of the key line; it is copied into the result.
m2bKey = "3be6497145ea84867175c1db943eb15027503305cf3c68d7df7a84b3c87f5984";
m2bOperation = "zariski_closure";
m2bSeed = 0;
setRandomSeed m2bSeed;

-- Encoding of exact values as JSON. Polynomials leave as exponent vectors and decimal coefficients, since
-- printing them takes Macaulay2 twenty times as long; integers of any size leave as decimal strings.

m2bRaw = new Type of BasicList; -- JSON text that is already encoded

m2bPolynomial = f -> (
    terms := listForm f;
    new m2bRaw from {
        if #terms == 0 then "{\"exponents\":[],\"coefficients\":[]}"
        else concatenate(
            "{\"exponents\":[[", demark("],[", apply(terms, t -> demark(",", t#0 / toString))),
            "]],\"coefficients\":[\"", demark("\",\"", apply(terms, t -> toString t#1)), "\"]}")}
    );

m2bPolynomials = L -> apply(toList L, m2bPolynomial);

m2bJson = v -> (
    if instance(v, m2bRaw) then v#0
    else if v === null then "null"
    else if instance(v, Boolean) or instance(v, ZZ) then toString v
    else if instance(v, String) and not match("[^ -!#-\\[\\]-~]", v) then concatenate("\"", v, "\"")
    else if instance(v, VisibleList) then concatenate("[", demark(",", apply(toList v, m2bJson)), "]")
    else if instance(v, HashTable) then concatenate("{",
        demark(",", apply(sort keys v, k -> concatenate("\"", k, "\":", m2bJson v#k))), "}")
    else error("no JSON for a value of class ", toString class v)
    );

-- The peak resident memory in kilobytes, where the system tells.
m2bPeak = () -> (
    if not fileExists "/proc/self/status" then return null;
    found := select("VmHWM:[^0-9]*([0-9]+)", "\\1", get "/proc/self/status");
    if #found == 0 then null else value found#0
    );

-- The result is written aside and renamed, so that the file is whole or absent.
m2bWrite = compute -> (
    start := cpuTime();
    result := compute();
    document := m2bJson hashTable {
        "format" => "m2bridge-document/1",
        "operation" => m2bOperation,
        "key" => m2bKey,
        "macaulay2" => version#"VERSION",
        "seed" => m2bSeed,
        "cpu_microseconds" => round(1000000 * (cpuTime() - start)),
        "peak_kilobytes" => m2bPeak(),
        "result" => result
        };
    file := if #scriptCommandLine > 1 then scriptCommandLine#1;
    if file === null then print document else (
        part := concatenate(file, ".", toString processID(), ".part");
        part << document << endl << close;
        moveFile(part, file);
        );
    );
m2bCompute = () -> (
    -- The ideal J of the Zariski closure in the linearly independent coordinates Z; the other coordinates
    -- are affine-linear in these.
    P := QQ[w_0, w_1, w_2, w_3, w_4, Degrees => {1, 1, 1, 1, 2}];
    use P;
    F := matrix(P, {{w_0*w_3, w_1*w_3, w_0*w_2*w_3+w_0*w_4, w_1*w_2*w_3+w_1*w_4, w_0*w_2*w_4, w_1*w_2*w_4}});
    Z := QQ[y_0, y_1, y_2, y_3, y_4, y_5, Degrees => {2, 2, 3, 3, 4, 4}];
    J := kernel map(P, Z, F);
    use Z;
    -- Dimension and degree of the projective closure are those of the initial ideal for a graded order.
    m2bStandard := I -> (
        Y := newRing(ring I, Degrees => apply(numgens ring I, i -> 1), MonomialOrder => GRevLex);
        (map(Y, ring I, gens Y)) I);
    m2bInitial := I -> (
        standard := m2bStandard I;
        G := gens gb standard;
        if numcols G == 0 then monomialIdeal(0_(ring standard)) else monomialIdeal leadTerm G);
    homogeneous := isHomogeneous J;
    J = trim J;
    initial := m2bInitial J;
    hashTable {
        "dim" => dim initial,
        "degree" => degree initial,
        "minimal" => homogeneous,
        "generators" => m2bPolynomials select(flatten entries gens J, g -> g != 0),
        "betti" => (
            standard := m2bStandard J;
            if isHomogeneous standard then apply(pairs betti res standard, (k, rank) -> {k#0, k#2, rank}))
        }
    );

m2bWrite m2bCompute;
