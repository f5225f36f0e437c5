"""Several engines at work at once, one for each worker thread."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import Self

from m2bridge.engines.protocol import Engine
from m2bridge.errors import InputError
from m2bridge.job import Job, JobFolder, Outcome


class EnginePool:
    """Engines that run many jobs, each engine one at a time.

    Parameters
    ----------
    n
        Number of engines, hence of jobs that run at once.
    make_engine
        Makes one; called n times here, in the caller's thread.

    Raises
    ------
    InputError
        If n is not positive.

    Examples
    --------
    >>> with EnginePool(4, WarmEngine) as pool:  # doctest: +SKIP
    ...     for index, outcome in pool.run_all(jobs):
    ...         print(index, outcome.status)
    """

    def __init__(self, n: int, make_engine: Callable[[], Engine]) -> None:
        if n < 1:
            raise InputError(f"the number of engines must be positive, not {n}")
        self.engines: list[Engine] = []
        try:
            for _ in range(n):
                self.engines.append(make_engine())
        except BaseException:
            self.close()
            raise

    def run_all(self, jobs: Iterable[tuple[Job, JobFolder]]) -> Iterator[tuple[int, Outcome]]:
        """Run jobs and give each one's place in the input with its outcome, in the order in which they end.

        The input is read as the engines come to it, so it may be long, or made on the way. When the caller
        stops early, be it by an exception or by Ctrl-C, the running jobs are interrupted and the pool is closed.

        Raises
        ------
        Exception
            What the input raised, or an engine (none does for a fault of a job: that is an outcome).
        """
        source = enumerate(jobs)
        taking = threading.Lock()
        results: queue.SimpleQueue[tuple[int, Outcome] | BaseException | None] = queue.SimpleQueue()
        stopped = threading.Event()

        def work(engine: Engine) -> None:
            try:
                while not stopped.is_set():
                    with taking:
                        taken = next(source, None)
                    if taken is None:
                        break
                    index, (job, folder) = taken
                    results.put((index, engine.run(job, folder)))
            except BaseException as error:  # handed to the caller's thread, which raises it
                stopped.set()
                results.put(error)
            results.put(None)

        # Daemons: a caller that dies without closing the pool must not wait for the jobs.
        workers = [threading.Thread(target=work, args=(engine,), daemon=True) for engine in self.engines]
        at_work = len(workers)
        try:
            for worker in workers:
                worker.start()
            while at_work:
                result = results.get()
                if result is None:
                    at_work -= 1
                elif isinstance(result, BaseException):
                    raise result
                else:
                    yield result
        finally:
            if at_work:
                stopped.set()
                self.close()
            for worker in workers:
                worker.join()

    def close(self) -> None:
        """End every engine, for good; calling it twice does nothing."""
        for engine in self.engines:
            engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
