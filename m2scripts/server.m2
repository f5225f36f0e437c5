-- The fork server of m2bridge. Not a template; run as
--     M2 --script server.m2 ORDERS FOLDERS ANSWERS
-- where the arguments are the numbers of the ends of three pipes that it inherits. Standard input stays free
-- (it is empty), so that a job that reads it finds what it would find in a process of its own.
--   ORDERS   "fork" starts a child and answers its process number; "wait" waits for the child's end and
--            answers the raw status. The end of the pipe ends the server.
--   FOLDERS  is read by the child alone, which waits there until its limits are set: the bytes of the job
--            folder's path as decimal numbers, so that no name can be misread. The server itself learns
--            nothing of any job, hence no job can depend on an earlier one.
--   ANSWERS  one number a line; 0 when the server is ready. Every answer is flushed: what is left in a buffer
--            would be written once more by each child.

m2bLine = file -> (
    line := "";
    while not match("\n", line) do (
        piece := read file;
        if piece === "" then exit 0;
        line = line | piece);
    substring(line, 0, #line - 1));

m2bChild = folders -> (
    folder := ascii value concatenate("{", m2bLine folders, "}");
    scriptCommandLine = {folder | "/script.m2", folder | "/result.json"};
    -- Macaulay2 1.21 cannot change its folder; newer ones can, and then do as for a process of its own.
    if isGlobalSymbol "changeDirectory" then (value getGlobalSymbol "changeDirectory") folder;
    load scriptCommandLine#0;
    -- The end of a process takes Macaulay2 longer than a small job: each library cleans up, and so copies, the
    -- memory that it shares with the server. Another program in its place has nothing to clean up.
    if Core#"private dictionary"#?"runEndFunctions" then (
        (value Core#"private dictionary"#"runEndFunctions")();
        stdio << flush;
        stderr << flush;
        exec {"true"});
    exit 0);

m2bServe = (orders, folders, answers) -> (
    child := -1;
    answers << 0 << endl << flush;
    while true do (
        order := m2bLine orders;
        if order === "fork" then (
            child = fork();
            if child == 0 then m2bChild folders;
            answers << child << endl << flush)
        else answers << wait child << endl << flush));

m2bPipe = i -> concatenate("/dev/fd/", scriptCommandLine#i);
m2bServe(openIn m2bPipe 1, openIn m2bPipe 2, openOut m2bPipe 3);
