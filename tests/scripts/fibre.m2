-- Fibre of a polynomial map: dimension, degree, components.
-- Map: lightning self-attention d=2, d'=1, a=1, t=2 in A, V, over QQ.
-- Parameters: w_0 = A11, w_1 = A12, w_2 = A21, w_3 = A22, w_4 = V11, w_5 = V12
-- Coordinates that are affine-linear in others are left out.
--
-- Run it by hand:  M2 --script script.m2 result.json
-- (without the file name the result is printed). The key below is the SHA-256 of this file with nothing
-- between the quotes of the key line; it is copied into the result.
m2bKey = "2a5670733c6a2378e8bade985ef903c69b3364f300bea53de7e8a01219d7d364";
m2bOperation = "fibre";
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
    -- Dimension and degree of the projective closure are those of the initial ideal for a graded order.
    m2bStandard := I -> (
        Y := newRing(ring I, Degrees => apply(numgens ring I, i -> 1), MonomialOrder => GRevLex);
        (map(Y, ring I, gens Y)) I);
    m2bInitial := I -> (
        standard := m2bStandard I;
        G := gens gb standard;
        if numcols G == 0 then monomialIdeal(0_(ring standard)) else monomialIdeal leadTerm G);
    P := QQ[w_0, w_1, w_2, w_3, w_4, w_5];
    use P;
    I := ideal matrix(P, {{w_0*w_4, w_1*w_4, w_2*w_4+w_0*w_5-1, w_3*w_4+w_1*w_5, w_2*w_5, w_3*w_5, -w_1*w_2+w_0*w_3}});
    initial := m2bInitial I;
    components := if dim initial < 0 then {} else decompose I;
    hashTable {
        "dim" => dim initial,
        "degree" => degree initial,
        "reduced" => #components == 0 or isSubset(intersect components, I),
        "components" => apply(components, C -> (m := m2bInitial C; {dim m, degree m}))
        }
    );

m2bWrite m2bCompute;
