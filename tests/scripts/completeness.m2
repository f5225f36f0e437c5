-- Whether equations generate the whole ideal of a Zariski closure, decided modulo one prime.
-- Map: lightning self-attention d=2, d'=1, a=1, t=2 in Q, K, V, over GF(32003).
-- The ideal is that of the Zariski closure of its image.
-- Eliminated from lightning self-attention d=2, d'=1, a=1, t=2 in A = [B; C B], V: it has the same coordinates and the same closure.
-- Parameters: w_0 = B11, w_1 = B12, w_2 = C11, w_3 = V11, w_4 = V12
-- Coordinates: y_0 = y1111, y_1 = y1112, y_2 = y1121, y_3 = y1122, y_4 = y1221, y_5 = y1222
-- 2 of 8 coordinates are affine-linear in these, and left out.
-- Method: chart; see docs/completeness.md of m2bridge.
--
-- Run it by hand:  M2 --script script.m2 result.json
-- (without the file name the result is printed). The key below is the SHA-256 of this file with nothing
-- between the quotes of the key line; it is copied into the result.
m2bKey = "0576529fe6f04173d337c39d7f8e8d1e899019c2dbd0c1d66ca29b7e1fee7262";
m2bOperation = "completeness";
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
    Z := ZZ/32003[y_0, y_1, y_2, y_3, y_4, y_5];
    use Z;
    J := ideal matrix(Z, {{y_1*y_2-y_0*y_3, y_1*y_4-y_0*y_5, y_3*y_4-y_2*y_5}});
    G := gens gb J;
    leading := leadTerm G;
    initial := if numcols G == 0 then monomialIdeal(0_Z) else monomialIdeal leading;
    -- A last variable that divides no leading monomial is no zero divisor (graded reverse lexicographic order).
    lastIsFree := all(flatten entries leading, m -> degree(Z_(numgens Z - 1), m) == 0);
    -- h is no zero divisor iff the Hilbert series of Z/(J + h) is 1 - T^(deg h) times that of Z/J. (Driving the
    -- basis by the expected series is faster, but Macaulay2 aborts where the series is wrong.)
    numerator := poincare comodule initial;
    isNonzerodivisor := h -> (
        if h == Z_(numgens Z - 1) and lastIsFree then return true;
        expected := (1 - (degreesRing Z)_0^(first degree h)) * numerator;
        H := gens gb(J + ideal h);
        poincare comodule monomialIdeal leadTerm H == expected);
    identities := apply(flatten entries matrix(Z, {{-y_1*y_4+y_0*y_5, -y_3*y_4+y_2*y_5, 0}}), f -> f % J == 0);
    hashTable {
        "dim" => dim initial,
        "degree" => degree initial,
        "identities" => identities,
        "nonzerodivisors" => if all(identities, x -> x)
            then apply(flatten entries matrix(Z, {{y_5}}), isNonzerodivisor) else {},
        "contains_kernel" => null,
        "kernel_degrees" => null
        }
    );

m2bWrite m2bCompute;
