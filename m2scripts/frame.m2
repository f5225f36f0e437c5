--% include "header.m2"


m2bKey = "${ key }";
m2bOperation = "${ operation }";
m2bSeed = ${ seed };
setRandomSeed m2bSeed;

--% include "encode.m2"


m2bCompute = () -> (
--% block compute
--% endblock
    );

m2bWrite m2bCompute;
