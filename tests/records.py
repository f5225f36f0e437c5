"""What tests of sweeps share: the laws that every store of records obeys."""

from collections import Counter

from m2bridge.sweep import Store


def check_records(store: Store) -> Counter[str]:
    """Assert that nothing began after it was done, and return how often each job was done."""
    done: dict[str, float] = {}
    records = sorted(store.all_records(), key=lambda r: r.at)
    counts: Counter[str] = Counter()
    for record in records:
        assert not (record.kind == "start" and record.key in done)
        if record.kind == "end" and record.outcome == "done":
            done[record.key] = record.at
            counts[record.key] += 1
    return counts
