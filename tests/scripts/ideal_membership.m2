-- Division of a polynomial by the generators of an ideal: cofactors and normal form.
-- y_0 = x, y_1 = y
--
-- Run it by hand:  M2 --script script.m2 result.json
-- (without the file name the result is printed). The key below is the SHA-256 of this file with nothing
-- between the quotes of the key line; it is copied into the result.
m2bKey = "bdce44adadedf1a49eab51eabdaaa02a274d42db3120e512762fbdbc0f502a8f";
m2bOperation = "ideal_membership";
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
    S := QQ[y_0, y_1];
    use S;
    G := matrix(S, {{y_0*y_1-1, y_1^2-y_0}});
    (q, r) := quotientRemainder(matrix(S, {{y_1^3-1}}), G);
    hashTable {
        "cofactors" => m2bPolynomials flatten entries q,
        "remainder" => m2bPolynomial r_(0,0)
        }
    );

m2bWrite m2bCompute;
