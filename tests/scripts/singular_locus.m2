-- Singular locus of the Zariski closure of the image of a polynomial map, by minors.
-- Map: polynomial map, over QQ.
-- The ideal is that of the Zariski closure of its image.
-- Parameters: w_0 = s
-- Coordinates: y_0 = x, y_1 = y
--
-- Run it by hand:  M2 --script script.m2 result.json
-- (without the file name the result is printed). The key below is the SHA-256 of this file with nothing
-- between the quotes of the key line; it is copied into the result.
m2bKey = "33f205f13fbd7abe0d5564aec8193022138e7efe68b8da655b90cd026e2ad963";
m2bOperation = "singular_locus";
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
    P := QQ[w_0, Degrees => {1}];
    use P;
    F := matrix(P, {{w_0^2, w_0^3}});
    Z := QQ[y_0, y_1, Degrees => {2, 3}];
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
    J = trim J;
    varietyDim := dim m2bInitial J;
    c := numgens Z - varietyDim;
    n := if c == 0 then 1 else binomial(numgens J, c) * binomial(numgens Z, c);
    D := jacobian gens J;
    -- Some minors, chosen at random, cut out a set that contains the singular locus.
    choose := m -> sort take(random toList(0 .. m - 1), c);
    some := () -> ideal apply(0, i -> det submatrix(D, choose numrows D, choose numcols D));
    feasible := n <= 5000;
    if not feasible and 0 == 0 then hashTable {
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
    );

m2bWrite m2bCompute;
